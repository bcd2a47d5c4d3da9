package cachestore

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/scrfs/scrfs/scr"
)

// The store does to its files what the calls say, every file has its entry, and
// what is called complete is what was sealed and not touched since: after any
// calls, and as well when it is closed and opened between.
func TestStoreFollowsTheModel(t *testing.T) {
	ids := []scr.DatasetID{1, 2}
	paths := []string{"a", "b", "d/a", "d/b", "d/s/a", "e/a"}
	rapid.Check(t, func(rt *rapid.T) {
		n := node{newMem(t)}
		s := n.open(t)
		content := map[scr.DatasetID]map[string]string{1: {}, 2: {}}
		sealed := map[scr.DatasetID]map[string]bool{} // and not touched since
		broken := map[scr.DatasetID]bool{}            // a sealed file was touched
		touch := func(d scr.DatasetID, p string) { broken[d] = broken[d] || sealed[d][p] }
		id := func() scr.DatasetID { return rapid.SampledFrom(ids).Draw(rt, "id") }
		file := func() string { return rapid.SampledFrom(paths).Draw(rt, "path") }
		check := func(err error) {
			if err != nil {
				rt.Fatal(err)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(*rapid.T) {
				d, p := id(), file()
				data := strings.Repeat("x", rapid.IntRange(0, 3).Draw(rt, "bytes"))
				check(put(s, d, p, data))
				content[d][p] = data
				touch(d, p)
			},
			"remove": func(*rapid.T) {
				d, p := id(), file()
				_, there := content[d][p]
				if err := s.Remove(d, p); (err == nil) != there {
					rt.Fatalf("remove %s: %v", p, err)
				}
				touch(d, p)
				delete(content[d], p)
			},
			"rename file": func(*rapid.T) {
				d, p, q := id(), file(), file()
				check(s.Rename(d, p, q))
				if data, there := content[d][p]; there && p != q {
					delete(content[d], p)
					content[d][q] = data
					touch(d, p)
					touch(d, q)
				}
			},
			"exchange files": func(*rapid.T) {
				d, p, q := id(), file(), file()
				if p == q {
					return
				}
				check(s.Exchange(d, d, p, q))
				x, hasX := content[d][p]
				y, hasY := content[d][q]
				delete(content[d], p)
				delete(content[d], q)
				if hasX {
					content[d][q] = x
				}
				if hasY {
					content[d][p] = y
				}
				if hasX || hasY {
					touch(d, p)
					touch(d, q)
				}
			},
			"exchange directories": func(*rapid.T) {
				check(s.Exchange(1, 1, "d", "e"))
				for d, files := range content {
					swapped := map[string]string{}
					for p, data := range files {
						switch {
						case under("d", p):
							swapped[moved("d", "e", p)] = data
							touch(d, p)
						case under("e", p):
							swapped[moved("e", "d", p)] = data
							touch(d, p)
						default:
							swapped[p] = data
						}
					}
					content[d] = swapped
				}
			},
			"seal": func(*rapid.T) {
				d := id()
				ranks := map[scr.Rank]map[string]string{0: {}, 1: {}}
				for p, data := range content[d] {
					ranks[scr.Rank(rapid.IntRange(0, 1).Draw(rt, "rank"))][p] = data
				}
				check(s.Seal(record(d, ranks)))
				sealed[d], broken[d] = map[string]bool{}, false
				for p := range content[d] {
					sealed[d][p] = true
				}
			},
			"unseal":         func(*rapid.T) { d := id(); check(s.Unseal(d)); delete(sealed, d) },
			"remove dataset": func(*rapid.T) { d := id(); check(s.RemoveDataset(d)); clear(content[d]); delete(sealed, d) },
			"reopen":         func(*rapid.T) { check(s.Close()); s = n.open(t) },
			"": func(*rapid.T) {
				want := map[string]string{}
				for d, files := range content {
					for p, data := range files {
						want["cache/"+cacheName(d, p)] = data
						if !s.state.set(d).has(p) {
							rt.Fatalf("dataset %d: %s has no entry", d, p)
						}
					}
					entries := len(s.state.set(d).pending) + len(s.state.set(d).sealed)
					if entries != len(files) {
						rt.Fatalf("dataset %d: %d entries for %d files", d, entries, len(files))
					}
				}
				got := files(t, n.root, "cache")
				if !maps.Equal(got, want) {
					rt.Fatalf("files: got %v\nwant %v", got, want)
				}
				var complete []scr.DatasetID
				for _, d := range ids {
					if sealed[d] != nil && !broken[d] && len(sealed[d]) == len(content[d]) {
						complete = append(complete, d)
					}
				}
				if got := s.Complete(); !slices.Equal(got, complete) {
					rt.Fatalf("complete: got %v, want %v\n%s", got, complete, view(s))
				}
			},
		})
	})
}
