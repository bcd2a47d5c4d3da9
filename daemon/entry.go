package daemon

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"fmt"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/kvtree"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/scr"
)

// entry is one change, in the order the leader gave it: an operation on the
// tree, or an event of the datasets' lives that touches no name.
type entry struct {
	Epoch int64
	Seq   uint64
	Fresh scr.DatasetID // id for a dataset that the operation may begin
	Op    *catalog.Op
	Event *lifecycle.Event
}

// The wire form: kind (1 byte), epoch, seq and fresh (8 bytes each, big
// endian), then the operation as a packed hash or the event.
const entryHeader = 25

const (
	entryOp    = 1
	entryEvent = 2
)

func (e entry) encode() ([]byte, error) {
	b := make([]byte, entryHeader, 512)
	binary.BigEndian.PutUint64(b[1:], uint64(e.Epoch))
	binary.BigEndian.PutUint64(b[9:], e.Seq)
	binary.BigEndian.PutUint64(b[17:], uint64(e.Fresh))
	if e.Op != nil {
		b[0] = entryOp
		return append(b, kvtree.Pack(e.Op.Tree())...), nil
	}
	b[0] = entryEvent
	buf := bytes.NewBuffer(b)
	if err := gob.NewEncoder(buf).Encode(e.Event); err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.Event.Kind, err)
	}
	return buf.Bytes(), nil
}

func decodeEntry(b []byte) (entry, error) {
	if len(b) < entryHeader {
		return entry{}, fmt.Errorf("entry of %d bytes: at least %d are needed", len(b), entryHeader)
	}
	e := entry{
		Epoch: int64(binary.BigEndian.Uint64(b[1:])),
		Seq:   binary.BigEndian.Uint64(b[9:]),
		Fresh: scr.DatasetID(binary.BigEndian.Uint64(b[17:])),
	}
	switch b[0] {
	case entryOp:
		t, err := kvtree.Unpack(b[entryHeader:])
		if err != nil {
			return entry{}, fmt.Errorf("entry %d: %w", e.Seq, err)
		}
		op, err := catalog.OpFromTree(t)
		if err != nil {
			return entry{}, fmt.Errorf("entry %d: %w", e.Seq, err)
		}
		e.Op = &op
	case entryEvent:
		e.Event = &lifecycle.Event{}
		if err := gob.NewDecoder(bytes.NewReader(b[entryHeader:])).Decode(e.Event); err != nil {
			return entry{}, fmt.Errorf("entry %d: %w", e.Seq, err)
		}
	default:
		return entry{}, fmt.Errorf("entry %d: unknown kind %d", e.Seq, b[0])
	}
	return e, nil
}

// joinFrames and splitFrames carry several byte strings in one message, each
// behind its length in 4 bytes, big endian.
func joinFrames(frames [][]byte) []byte {
	var b []byte
	for _, f := range frames {
		b = binary.BigEndian.AppendUint32(b, uint32(len(f)))
		b = append(b, f...)
	}
	return b
}

func splitFrames(b []byte) ([][]byte, error) {
	var frames [][]byte
	for len(b) > 0 {
		if len(b) < 4 {
			return nil, fmt.Errorf("frame length cut off after %d bytes", len(b))
		}
		n := binary.BigEndian.Uint32(b)
		if b = b[4:]; uint64(n) > uint64(len(b)) {
			return nil, fmt.Errorf("frame of %d bytes, %d are left", n, len(b))
		}
		frames, b = append(frames, b[:n]), b[n:]
	}
	return frames, nil
}

// encodeGob and decodeGob carry the arguments of the rarer calls.
func encodeGob(v any) ([]byte, error) {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(v); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return b.Bytes(), nil
}

func decodeGob(b []byte, v any) error {
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(v); err != nil {
		return fmt.Errorf("decode %T: %w", v, err)
	}
	return nil
}
