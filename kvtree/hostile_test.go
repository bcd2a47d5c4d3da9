package kvtree

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

// fileOf puts a header around packed bytes as Encode does, whatever they say.
func fileOf(packed []byte, size uint64, flags uint32) []byte {
	b := binary.BigEndian.AppendUint32(nil, magic)
	b = binary.BigEndian.AppendUint16(b, 1)
	b = binary.BigEndian.AppendUint16(b, 1)
	b = binary.BigEndian.AppendUint64(b, size)
	b = binary.BigEndian.AppendUint32(b, flags)
	b = append(b, packed...)
	if flags&flagCRC == 0 {
		return b
	}
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func TestBytesThatAreNoHashAreRefused(t *testing.T) {
	for name, tc := range map[string]struct{ hex, want string }{
		"nothing":                 {"", "byte 0: count is cut short"},
		"half a count":            {"0000", "byte 0: count is cut short"},
		"count without elements":  {"00000001", "byte 0: 1 elements in 0 bytes"},
		"count of all ones":       {"ffffffff 4100 00000000", "byte 0: 4294967295 elements in 6 bytes"},
		"key without NUL":         {"00000001 4141414141", "byte 4: key without its end"},
		"key, but no tree":        {"00000001 4141414100", "byte 9: count is cut short"},
		"count of a sub tree":     {"00000001 4100 00000002 42000000", "byte 6: 2 elements in 4 bytes"},
		"bytes after it":          {"00000000 00", "byte 4: 1 bytes after the end of the hash"},
		"key twice":               {"00000002 4100 00000000 4100 00000000", `byte 0: key "A" stands twice`},
		"key twice, in a subtree": {"00000001 4200 00000002 4100 00000000 4100 00000000", `byte 6: key "A" stands twice`},
		"empty key twice":         {"00000002 00 00000000 00 00000000", `byte 0: key "" stands twice`},
		"key twice in a long list": {"00000012" + strings.Join([]string{"4100", "4200", "4300", "4400", "4500", "4600", "4700", "4800", "4900",
			"4a00", "4b00", "4c00", "4d00", "4e00", "4f00", "5000", "5100", "4300"}, "00000000") + "00000000", `byte 0: key "C" stands twice`},
	} {
		b, err := hex.DecodeString(strings.ReplaceAll(tc.hex, " ", ""))
		if err != nil {
			t.Fatal(name, err)
		}
		tree, err := Unpack(b)
		if tree != nil || !errors.Is(err, ErrFormat) || err.Error() != tc.want+": not a valid hash" {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
}

func TestFilesThatAreNoHashAreRefused(t *testing.T) {
	good, err := hex.DecodeString(nodesFile)
	if err != nil {
		t.Fatal(err)
	}
	changed := func(at int, b ...byte) []byte {
		out := bytes.Clone(good)
		copy(out[at:], b)
		return out
	}
	for name, tc := range map[string]struct {
		file []byte
		err  error
		want string
	}{
		"empty":         {nil, ErrFormat, "0 bytes where 20 are expected"},
		"short header":  {good[:19], ErrFormat, "19 bytes where 20 are expected"},
		"no CRC":        {good[:43], ErrFormat, "43 bytes where 44 are expected"},
		"magic":         {changed(0, 0x59), ErrFormat, "starts with 591fc3f5, not with the magic 951fc3f5"},
		"compressed":    {changed(5, 2), ErrFormat, "type 2 version 1, not 1 and 1"},
		"version":       {changed(7, 2), ErrFormat, "type 1 version 2, not 1 and 1"},
		"size 0":        {changed(15, 0), ErrFormat, "size 0, less than an empty hash"},
		"size 27":       {changed(15, 27), ErrFormat, "size 27, less than an empty hash"},
		"huge size":     {changed(8, 0x7f), ErrFormat, "size 9151314442816847916, more than 2147483647"},
		"negative size": {changed(8, 0xff), ErrFormat, "size 18374686479671623724, more than 2147483647"},
		"size 1 more":   {changed(15, 45), ErrFormat, "44 bytes where 45 are expected"},
		"size 1 less":   {changed(15, 43), ErrCRC, "crc is "},
		"key":           {changed(24, 'M'), ErrCRC, "crc is 0xff82ab8b, the file says 0xd64a1f79"},
		"no CRC flag":   {changed(19, 0), ErrFormat, "byte 20: 4 bytes after the end of the hash"},
		"bytes left": {fileOf([]byte{0, 0, 0, 0, 0}, 29, 1), ErrFormat,
			"byte 4: 1 bytes after the end of the hash"},
	} {
		tree, n, err := Decode(tc.file)
		if tree != nil || n != 0 || !errors.Is(err, tc.err) || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: Decode: %v, want %s", name, err, tc.want)
		}
		tree, _, err = ReadFrom(bytes.NewReader(tc.file))
		if tree != nil || !errors.Is(err, tc.err) || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: ReadFrom: %v, want %s", name, err, tc.want)
		}
		if short := strings.Contains(tc.want, "expected"); errors.Is(err, io.ErrUnexpectedEOF) != short {
			t.Errorf("%s: %v: cut short is %v", name, err, short)
		}
	}
}

func TestEveryChangedBitAndEveryCutIsSeen(t *testing.T) {
	good := readFile(t, "testdata/golden/f14/xor8-ppn2/3.scrfilemap")
	for i := range good {
		for bit := range 8 {
			b := bytes.Clone(good)
			b[i] ^= 1 << bit
			if _, _, err := Decode(b); !errors.Is(err, ErrFormat) && !errors.Is(err, ErrCRC) {
				t.Fatalf("bit %d of byte %d turned: %v", bit, i, err)
			}
		}
		if _, _, err := Decode(good[:i]); !errors.Is(err, ErrFormat) {
			t.Fatalf("cut after %d bytes: %v", i, err)
		}
	}
}

func TestAFileWithoutCRCIsRead(t *testing.T) {
	want := parse(t, "NODES\n  3\n")
	packed := Pack(want)
	b := append(fileOf(packed, uint64(20+len(packed)), 0), "binary"...)
	tree, n, err := Decode(b)
	if err != nil || n != len(b)-6 || !Equal(tree, want) {
		t.Errorf("%d bytes, %v; want %d", n, err, len(b)-6)
	}
}

func TestReadErrorsAreKept(t *testing.T) {
	good, want := readFile(t, "testdata/golden/f14/xor8-ppn2/3.scrfilemap"), errors.New("input/output error")
	for _, n := range []int{0, 10, 20, 500} {
		r := io.MultiReader(bytes.NewReader(good[:n]), iotest.ErrReader(want))
		if _, got, err := ReadFrom(r); !errors.Is(err, want) || got != int64(n) {
			t.Errorf("an error after %d bytes gives %v after %d", n, err, got)
		}
	}
	if tree, _, err := ReadFrom(iotest.OneByteReader(bytes.NewReader(good))); err != nil || tree.Len() != 2 {
		t.Errorf("read byte by byte: %v", err)
	}
}

// nested returns a packed chain of trees with one key each.
func nested(depth int) []byte {
	var b []byte
	for range depth {
		b = append(b, 0, 0, 0, 1, 'K', 0)
	}
	return append(b, 0, 0, 0, 0)
}

func TestDepthIsBounded(t *testing.T) {
	if _, err := Unpack(nested(MaxDepth)); err != nil {
		t.Errorf("%d levels: %v", MaxDepth, err)
	}
	for _, depth := range []int{MaxDepth + 1, 1 << 20} {
		_, err := Unpack(nested(depth))
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "deeper than 256 levels") {
			t.Errorf("%d levels: %v", depth, err)
		}
	}
}

// TestMemoryIsASmallMultipleOfTheInput measures what the readers allocate in
// all for the inputs that cost most.
func TestMemoryIsASmallMultipleOfTheInput(t *testing.T) {
	var leaves, chains []byte // 6 and 7 bytes for each element
	leaves = binary.BigEndian.AppendUint32(leaves, 255*256)
	chains = bytes.Clone(leaves)
	for i := range 255 * 256 {
		key := []byte{byte(i%255 + 1), byte(i/255 + 1), 0}
		if i/255 == 255 {
			key = []byte{byte(i%255 + 1), 0}
		}
		leaves = append(append(leaves, key...), 0, 0, 0, 0)
		chains = append(append(chains, key...), 0, 0, 0, 1, 0, 0, 0, 0, 0)
	}
	many := make([]byte, 4, 1<<20) // trees of 20 keys of one byte: long enough for an index
	for i := range 1000 {
		many = append(many, byte(i/250+1), byte(i%250+1), 0, 0, 0, 0, 20)
		for k := range byte(20) {
			many = append(many, k+1, 0, 0, 0, 0, 0)
		}
	}
	binary.BigEndian.PutUint32(many, 1000)

	const times, spare = 14, 256 << 10
	for name, packed := range map[string][]byte{"leaves": leaves, "chains": chains, "lists": many} {
		used := allocated(func() {
			if _, err := Unpack(packed); err != nil {
				t.Error(name, err)
			}
		})
		if most := uint64(times*len(packed) + 4096); used > most {
			t.Errorf("%s: %d bytes allocated to unpack %d, want at most %d", name, used, len(packed), most)
		}
		file := fileOf(packed, uint64(20+len(packed)+4), 1)
		used = allocated(func() {
			if _, _, err := ReadFrom(bytes.NewReader(file)); err != nil {
				t.Error(name, err)
			}
		})
		if most := uint64((times+4)*len(file) + spare); used > most {
			t.Errorf("%s: %d bytes allocated to read %d, want at most %d", name, used, len(file), most)
		}
	}
}

// TestAHugeSizeOrCountAllocatesNothing: a header that lies is found out by the
// bytes that do not come.
func TestAHugeSizeOrCountAllocatesNothing(t *testing.T) {
	few := []byte{0, 0, 0, 1, 'K', 0, 0, 0, 0, 0}
	for name, file := range map[string][]byte{
		"size of 2 GiB":  fileOf(few, MaxFileBytes, 1),
		"size beyond it": fileOf(few, 1<<63, 1),
		"count":          fileOf([]byte{0xff, 0xff, 0xff, 0xff}, 28, 1),
		"depth":          fileOf(nested(300), uint64(20+len(nested(300))), 0),
	} {
		used := allocated(func() {
			if tree, _, err := ReadFrom(bytes.NewReader(file)); tree != nil || !errors.Is(err, ErrFormat) {
				t.Errorf("%s: %v", name, err)
			}
		})
		if used > 80<<10 {
			t.Errorf("%s: %d bytes allocated", name, used)
		}
		used = allocated(func() {
			if tree, _, err := Decode(file); tree != nil || !errors.Is(err, ErrFormat) {
				t.Errorf("%s: %v", name, err)
			}
		})
		if used > 4<<10 {
			t.Errorf("%s: %d bytes allocated to decode", name, used)
		}
	}
}

// allocated returns the bytes that f allocates, in all: the least of three
// calls, as the runtime allocates too.
func allocated(f func()) uint64 {
	least := ^uint64(0)
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}
