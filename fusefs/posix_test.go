package fusefs_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hanwen/go-fuse/v2/posixtest"
)

// notPosix are tests of the suite that a plain directory fails as well:
// FcntlFlockLocksFile wants two locks of one process to exclude each other.
var notPosix = map[string]bool{"FcntlFlockLocksFile": true}

// With hardly any descriptor OpenSymlinkRace may see ESTALE, as on a network
// file system: the file it is about to open was given up and then replaced.

// TestPosix runs go-fuse's suite where the prefix directory answers, where the
// catalogue answers, and in both with all data going through the server.
func TestPosix(t *testing.T) {
	for _, area := range []struct {
		name string
		dir  string
		cfg  serverConfig
	}{
		{"bypassed", "plain", serverConfig{}},
		{"bypassed on disk", "plain", serverConfig{Prefix: t.TempDir()}},
		{"cached", "ckpt", serverConfig{}},
		{"bypassed without passthrough", "plain", serverConfig{NoPassthrough: true}},
		{"cached without passthrough", "ckpt", serverConfig{NoPassthrough: true}},
		{"remote", "ckpt", serverConfig{Remote: true}},
		{"bypassed with few descriptors", "plain", serverConfig{Descriptors: 1}},
	} {
		t.Run(area.name, func(t *testing.T) {
			m := startMount(t, area.cfg)
			var names []string
			for name := range posixtest.All {
				names = append(names, name)
			}
			slices.Sort(names)
			for _, name := range names {
				if notPosix[name] || area.cfg.Descriptors > 0 && name == "OpenSymlinkRace" {
					continue
				}
				t.Run(name, func(t *testing.T) {
					dir := filepath.Join(m.dir, area.dir+"-"+name)
					if err := os.Mkdir(dir, 0o755); err != nil {
						t.Fatal(err)
					}
					posixtest.All[name](t, dir)
				})
			}
		})
	}
}
