package scr

import (
	"slices"
	"strings"
	"testing"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/kvtree"
)

// The scavenged filemap that SCR's developer notes print. It has no CLUSTER.
const notesRankFilemap = `  DSET
    6
      RANK
        2
  RANK
    2
      DSET
        6
          DSETDESC
            COMPLETE
              1
            SIZE
              2097182
            FILES
              4
            ID
              6
            NAME
              scr.dataset.6
            CREATED
              1312850690668536
            USER
              user1
            JOBNAME
              simulation123
            JOBID
              112573
            CKPT
              6
          FILES
            2
          FILE
            3_of_4_in_0.xor
              META
                RANKS
                  4
                COMPLETE
                  1
                SIZE
                  175693
                TYPE
                  XOR
                FILE
                  3_of_4_in_0.xor
                CRC
                  0x2ef519a1
            rank_2.ckpt
              META
                COMPLETE
                  1
                SIZE
                  524296
                NAME
                  rank_2.ckpt
                PATH
                  /p/lscratchb/user1/simulation123
                ORIG
                  rank_2.ckpt
                RANKS
                  4
                TYPE
                  FULL
                FILE
                  rank_2.ckpt
                CRC
                  0x738bb68f
`

func TestFilemapOfTheNotesIsRead(t *testing.T) {
	tree, err := kvtree.ParseText(strings.NewReader(notesRankFilemap))
	if err != nil {
		t.Fatal(err)
	}
	checkFilemap(t, "the notes", F11, tree)
	m, err := FilemapFromTree(tree)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Files(6, 2); !slices.Equal(got, []string{"3_of_4_in_0.xor", "rank_2.ckpt"}) {
		t.Errorf("files: got %q", got)
	}
	if meta, err := m.Meta(6, 2, "rank_2.ckpt"); err != nil || meta.Type != UserFile || meta.CRC != 0x738bb68f || meta.Ranks != 4 {
		t.Errorf("got %+v, %v", meta, err)
	}
}

// The notes spell the dataset descriptor DATADESC and keep the partner as a tag.
func TestOldSpellingOfTheNotesIsRead(t *testing.T) {
	m := NewFilemap()
	m.Entry(11, 28).Set("DATADESC", Dataset{ID: 11, Files: 3}.Tree(F11))
	if err := m.SetTag(11, 28, "PARTNER", "atlas56"); err != nil {
		t.Fatal(err)
	}
	if d, err := m.Dataset(11, 28); err != nil || d.Files != 3 {
		t.Errorf("got %+v, %v", d, err)
	}
}

func TestLockedReadSeesWhatWasWritten(t *testing.T) {
	mem := disk.NewMem()
	if got, err := LockedRead(mem, "x.lock", "x"); err != nil || got.Len() != 0 {
		t.Errorf("absent: got %q, %v", text(got), err)
	}
	want := NodesFile{Nodes: 3}.Tree(F14)
	if err := WriteTree(mem, "x", want); err != nil {
		t.Fatal(err)
	}
	if got, err := LockedRead(mem, "x.lock", "x"); err != nil || !kvtree.Equal(got, want) {
		t.Errorf("got %q, %v", text(got), err)
	}
}
