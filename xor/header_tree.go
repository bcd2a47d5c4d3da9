package xor

import (
	"fmt"
	"io"
	"strconv"

	"github.com/scrfs/scrfs/kvtree"
	"github.com/scrfs/scrfs/scr"
)

// The keys of the header.
const (
	keyChunk   = "CHUNK"
	keyRanks   = "RANKS"
	keyGroup   = "GROUP"
	keyRank    = "RANK"
	keyDataset = "DSET"
	keyCurrent = "CURRENT"
	keyPartner = "PARTNER"
	keyFiles   = "FILES"
	keyFile    = "FILE"
)

// Tree returns the header as family f writes it.
func (h Header) Tree(f scr.Family) *kvtree.Tree {
	t := kvtree.New()
	t.Set(keyPartner, h.Partner.tree(f))
	t.Set(keyCurrent, h.Current.tree(f))
	t.Set(keyDataset, h.Dataset.Tree(f))
	group := t.Sub(keyGroup)
	group.PutInt(keyRanks, int64(len(h.Group)))
	ranks := group.Sub(keyRank)
	for i, r := range h.Group {
		ranks.PutInt(strconv.Itoa(i), int64(r))
	}
	t.PutInt(keyRanks, int64(h.Ranks))
	t.PutInt(keyChunk, h.ChunkBytes)
	return t
}

func (m Member) tree(f scr.Family) *kvtree.Tree {
	t := kvtree.New()
	t.PutInt(keyRank, int64(m.Rank))
	t.PutInt(keyFiles, int64(len(m.Files)))
	files := t.Sub(keyFile) // there also when it is empty, as SCR has it
	for i, meta := range m.Files {
		files.Set(strconv.Itoa(i), meta.Tree(f))
	}
	return t
}

// HeaderFromTree reads the header of any family and checks it as Validate does;
// moreover the counts in it must be those of its lists, and the lists be
// numbered from 0 without gaps. Errors wrap scr.ErrInvalid.
func HeaderFromTree(t *kvtree.Tree) (Header, error) {
	h, err := headerFromTree(t)
	if err == nil {
		err = h.Validate()
	}
	if err != nil {
		return Header{}, fmt.Errorf("xor header: %w", err)
	}
	return h, nil
}

func headerFromTree(t *kvtree.Tree) (h Header, err error) {
	ranks, err := number(t, keyRanks)
	if err != nil {
		return h, err
	}
	if ranks > scr.MaxRanks { // before it becomes an int
		return h, fmt.Errorf("key %s: %d: %w", keyRanks, ranks, scr.ErrInvalid)
	}
	h.Ranks = int(ranks)
	if h.ChunkBytes, err = number(t, keyChunk); err != nil {
		return h, err
	}
	if h.Group, err = groupFromTree(t.Get(keyGroup)); err != nil {
		return h, fmt.Errorf("key %s: %w", keyGroup, err)
	}
	if h.Dataset, err = scr.DatasetFromTree(t.Get(keyDataset)); err != nil {
		return h, err
	}
	if h.Current, err = memberFromTree(t.Get(keyCurrent)); err != nil {
		return h, fmt.Errorf("key %s: %w", keyCurrent, err)
	}
	if h.Partner, err = memberFromTree(t.Get(keyPartner)); err != nil {
		return h, fmt.Errorf("key %s: %w", keyPartner, err)
	}
	return h, nil
}

func groupFromTree(t *kvtree.Tree) ([]scr.Rank, error) {
	list, err := counted(t, keyRanks, keyRank)
	if err != nil {
		return nil, err
	}
	group := make([]scr.Rank, list.Len())
	for i := range group {
		text, _ := list.Value(strconv.Itoa(i))
		if group[i], err = scr.ParseRank(text); err != nil {
			return nil, fmt.Errorf("member %d: %w", i, err)
		}
	}
	return group, nil
}

func memberFromTree(t *kvtree.Tree) (m Member, err error) {
	text, _ := t.Value(keyRank)
	if m.Rank, err = scr.ParseRank(text); err != nil {
		return m, err
	}
	list, err := counted(t, keyFiles, keyFile)
	if err != nil {
		return m, err
	}
	m.Files = make([]scr.FileMeta, list.Len())
	for i := range m.Files {
		if m.Files[i], err = scr.FileMetaFromTree(list.Get(strconv.Itoa(i))); err != nil {
			return m, fmt.Errorf("file %d: %w", i, err)
		}
	}
	return m, nil
}

// counted returns the list under listKey, whose length must be the value of
// countKey and whose keys must be 0, 1, 2 ... in any order.
func counted(t *kvtree.Tree, countKey, listKey string) (*kvtree.Tree, error) {
	count, err := number(t, countKey)
	if err != nil {
		return nil, err
	}
	list := t.Get(listKey)
	if int64(list.Len()) != count {
		return nil, fmt.Errorf("%d entries under %s, %s says %d: %w", list.Len(), listKey, countKey, count, scr.ErrInvalid)
	}
	for i := range list.Len() {
		if !list.Has(strconv.Itoa(i)) {
			return nil, fmt.Errorf("entry %d under %s is missing: %w", i, listKey, scr.ErrInvalid)
		}
	}
	return list, nil
}

// number returns a field that must be there and not be negative.
func number(t *kvtree.Tree, key string) (int64, error) {
	n, err := t.Int(key)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", err, scr.ErrInvalid)
	}
	if n < 0 {
		return 0, fmt.Errorf("key %s: %d: %w", key, n, scr.ErrInvalid)
	}
	return n, nil
}

// ReadHeader reads the header at the start of a redundancy file and returns its
// size in bytes. It reads exactly that many, so r then stands on the payload,
// which is h.ChunkBytes long and ends the file. Damaged bytes wrap
// kvtree.ErrFormat or kvtree.ErrCRC, impossible values scr.ErrInvalid.
func ReadHeader(r io.Reader) (h Header, headerBytes int64, err error) {
	t, n, err := kvtree.ReadFrom(r)
	if err != nil {
		return Header{}, n, fmt.Errorf("xor header: %w", err)
	}
	h, err = HeaderFromTree(t)
	return h, n, err
}

// Encode returns the bytes that precede the payload in family f.
func (h Header) Encode(f scr.Family) []byte { return kvtree.Encode(h.Tree(f)) }
