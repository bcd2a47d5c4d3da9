package rescuetest

import (
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/scrfs/scrfs/scr"
)

func sorted(files Files) []string { return slices.Sorted(maps.Keys(files)) }

// Random is so many bytes that depend on the seed alone.
func Random(seed uint64, bytes int) []byte {
	r := rand.New(rand.NewPCG(seed, seed))
	data := make([]byte, bytes)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

// Checkpoint is one dataset with one root: dir/rank_<i>, of uneven sizes, one
// of them empty, and a second file with a blank in its name in a directory
// below.
func Checkpoint(dir string, seed uint64, ranks int) ([]Files, scr.DirTree) {
	files := make([]Files, ranks)
	for i := range files {
		files[i] = Files{
			dir + "/rank_" + scr.Rank(i).String():       Random(seed+uint64(i), 5000+1000*i),
			dir + "/sub/a file " + scr.Rank(i).String(): Random(seed+100+uint64(i), 700*(i%3)),
		}
	}
	tree := scr.DirTree{
		Dirs:     []scr.TreeEntry{{Path: dir}, {Path: dir + "/empty"}, {Path: dir + "/sub"}},
		Symlinks: []scr.TreeEntry{{Path: dir + "/latest", Target: "rank_0"}},
	}
	return files, tree
}

// Restart is one dataset of loose files: name.<i>.
func Restart(name string, seed uint64, ranks int) ([]Files, scr.DirTree) {
	files := make([]Files, ranks)
	for i := range files {
		files[i] = Files{name + "." + scr.Rank(i).String(): Random(seed+uint64(i), 3000+i)}
	}
	return files, scr.DirTree{}
}
