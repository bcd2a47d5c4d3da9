package fusefs

import (
	"errors"
	"log/slog"

	"github.com/scrfs/scrfs/prefixfs"
)

// Options say what is mounted where. All but Debug, Log and the switches are
// needed.
type Options struct {
	// Mountpoint is an existing directory; it may be the prefix directory
	// itself, which Prefix has taken hold of before.
	Mountpoint string
	// Prefix is the tree below.
	Prefix *prefixfs.FS
	// Namespace holds the names that belong to datasets.
	Namespace Namespace
	// AllowUID is the user who is served, besides root; all others get EACCES.
	AllowUID uint32
	// FSName is what mount(8) and df(1) show as the source. Default "scrfs".
	FSName string
	// NoPassthrough sends all data through this process, for comparison and
	// for kernels that misbehave.
	NoPassthrough bool
	// Debug logs every request.
	Debug bool
	// Log takes what the mount has to say. Default slog.Default().
	Log *slog.Logger
}

func (o *Options) validate() error {
	switch {
	case o.Mountpoint == "":
		return errors.New("mount: no mount point given")
	case o.Prefix == nil:
		return errors.New("mount: no prefix directory given")
	case o.Namespace == nil:
		return errors.New("mount: no name space given")
	}
	if o.FSName == "" {
		o.FSName = "scrfs"
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return nil
}
