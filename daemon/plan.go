package daemon

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/redset"
	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/xor"
)

// cachedFile is a file as the node that holds it reports it, frozen.
type cachedFile struct {
	Ino       catalog.Ino
	SizeBytes int64
	Mtime     int64 // nanoseconds since the epoch
	Spilled   bool  // it lies on the prefix directory
}

// plan says of an ended dataset who has what and how it is protected.
type plan struct {
	Dataset scr.Dataset
	Ranks   int
	NodeOf  map[scr.Rank]string
	Files   map[scr.Rank][]scr.FileMeta
	Tree    scr.DirTree
	Sets    []redset.Set
}

// planInput is what a plan is made from.
type planInput struct {
	Dataset   scr.Dataset
	Inodes    []*catalog.Inode // of the dataset
	Paths     []string         // of each inode, below the prefix directory
	Held      map[catalog.Ino]cachedFile
	Nodes     []string // that live
	PrefixDir string
	Sets      redset.Options
	Groups    map[string]string // failure group by node
}

// makePlan gives every file a rank and every rank a set. An inode that its
// owner does not report is an error: the dataset is not whole.
func makePlan(in planInput) (plan, []redset.Warning, error) {
	p := plan{Dataset: in.Dataset, NodeOf: map[scr.Rank]string{}, Files: map[scr.Rank][]scr.FileMeta{}}
	var writers []redset.Writer
	var regular []int
	for k, i := range in.Inodes {
		attr := attrOf(i)
		switch {
		case i.IsDir():
			p.Tree.Dirs = append(p.Tree.Dirs, scr.TreeEntry{Path: in.Paths[k], Attr: attr})
		case i.IsRegular():
			if _, held := in.Held[i.Ino]; !held {
				return p, nil, fmt.Errorf("dataset %d: %s is not in the cache of node %s: %w", in.Dataset.ID, in.Paths[k], i.Owner, scr.ErrIncomplete)
			}
			regular = append(regular, k)
			writers = append(writers, redset.Writer{Node: i.Owner, Rank: i.Rank, World: i.World})
		case i.Mode&syscall.S_IFMT != syscall.S_IFLNK:
			// A FIFO or socket holds nothing: it lives as long as the cache does.
		default:
			p.Tree.Symlinks = append(p.Tree.Symlinks, scr.TreeEntry{Path: in.Paths[k], Target: i.Target, Attr: attr})
		}
	}
	slices.SortFunc(p.Tree.Dirs, func(a, b scr.TreeEntry) int { return cmp.Compare(a.Path, b.Path) })
	settled := redset.Settle(writers, in.Nodes)
	p.Ranks = len(settled.Places)
	for i, pl := range settled.Places {
		settled.Places[i].Group = in.Groups[pl.Node]
		p.NodeOf[pl.Rank] = pl.Node
		p.Files[pl.Rank] = nil
	}
	for n, k := range regular {
		held := in.Held[in.Inodes[k].Ino]
		r := settled.Ranks[n]
		p.Files[r] = append(p.Files[r], metaOf(in, k, held, p.Ranks))
		p.Dataset.Files++
		p.Dataset.SizeBytes += held.SizeBytes
	}
	for _, files := range p.Files {
		slices.SortFunc(files, func(a, b scr.FileMeta) int { return strings.Compare(a.File, b.File) })
	}
	p.Dataset.Complete = true
	sets, warnings, err := redset.Form(settled.Places, in.Sets)
	p.Sets = sets
	return p, warnings, err
}

func metaOf(in planInput, k int, held cachedFile, ranks int) scr.FileMeta {
	rel := in.Paths[k]
	a := attrOf(in.Inodes[k])
	a.Modify = timespec(held.Mtime)
	return scr.FileMeta{
		File: rel, Type: scr.UserFile, Ranks: ranks, Orig: rel,
		Path: path.Join(in.PrefixDir, path.Dir(rel)), Name: path.Base(rel),
		SizeBytes: held.SizeBytes, Complete: true, Attr: a,
	}
}

func attrOf(i *catalog.Inode) *scr.FileAttr {
	return &scr.FileAttr{
		Mode: i.Mode, UID: i.UID, GID: i.GID,
		Access: timespec(i.Atime), Modify: timespec(i.Mtime), Change: timespec(i.Ctime),
	}
}

func timespec(nanos int64) scr.Timespec {
	ts := syscall.NsecToTimespec(nanos)
	return scr.Timespec{Secs: ts.Sec, Nsecs: ts.Nsec}
}

// setPlan is one redundancy set as its members need it.
type setPlan struct {
	Scheme scr.Scheme
	Nodes  []string // of each member
	Header []xor.Header
}

// setPlans makes the headers of all sets with more than one member.
func (p plan) setPlans() ([]setPlan, error) {
	var list []setPlan
	for _, s := range p.Sets {
		if s.Scheme == scr.Single {
			continue
		}
		members := make([]xor.Member, len(s.Members))
		nodes := make([]string, len(s.Members))
		for i, r := range s.Members {
			members[i] = xor.Member{Rank: r, Files: p.Files[r]}
			nodes[i] = p.NodeOf[r]
		}
		headers, err := xor.Headers(p.Dataset, p.Ranks, members)
		if err != nil {
			return nil, err
		}
		list = append(list, setPlan{Scheme: s.Scheme, Nodes: nodes, Header: headers})
	}
	return list, nil
}

// descriptor is the redundancy descriptor of a rank.
func (p plan) descriptor(r scr.Rank, interval int, dir, store string) scr.RedundancyDescriptor {
	d := scr.RedundancyDescriptor{
		Enabled: true, Interval: interval, Type: scr.Single, Directory: dir, Store: store,
		Groups: len(p.Sets), GroupID: r, GroupSize: 1,
	}
	for _, s := range p.Sets {
		if i := s.Index(r); i >= 0 {
			d.Type, d.GroupID, d.GroupSize, d.GroupRank = s.Scheme, s.ID, len(s.Members), i
		}
	}
	return d
}

// layout says which directories of the dataset are moved into place as a whole.
func (p plan) layout() scr.Layout {
	var files []string
	for _, list := range p.Files {
		for _, f := range list {
			files = append(files, f.File)
		}
	}
	return scr.LayoutOf(p.Dataset.ID, p.Tree, files)
}
