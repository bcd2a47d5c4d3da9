package disk_test

import (
	"testing"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/internal/disk/disktest"
	"golang.org/x/sys/unix"
)

func openReal(t *testing.T) disk.FS {
	t.Helper()
	f, err := disk.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.(*disk.Real).Close() })
	return f
}

func openByDescriptor(t *testing.T) disk.FS {
	t.Helper()
	fd, err := unix.Open(t.TempDir(), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	f, err := disk.OpenFd(fd, "/covered")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.(*disk.Real).Close() })
	return f
}

func openMem(*testing.T) disk.FS { return disk.NewMem() }

func TestEveryFSKeepsThePromises(t *testing.T) {
	nothing := func(disk.Op) {}
	for name, open := range map[string]func(*testing.T) disk.FS{
		"Real":  openReal,
		"Mem":   openMem,
		"Trace": func(t *testing.T) disk.FS { return disk.Trace(openReal(t), nothing) },
		"Inject": func(t *testing.T) disk.FS {
			return disk.Tag(disk.Inject(openMem(t), disk.Faults()), "tag")
		},
		"SubOfReal": func(t *testing.T) disk.FS { return below(t, openReal(t)) },
		"SubOfMem":  func(t *testing.T) disk.FS { return below(t, openMem(t)) },
		"OpenFd":    openByDescriptor,
		"AfterCrash": func(t *testing.T) disk.FS {
			m := disk.NewMem()
			below(t, m)
			return below(t, m.CrashClone())
		},
	} {
		t.Run(name, func(t *testing.T) { disktest.Run(t, open) })
	}
}

func below(t *testing.T, f disk.FS) disk.FS {
	t.Helper()
	if err := disk.MkdirAll(f, "the root", 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := f.Sub("the root")
	if err != nil {
		t.Fatal(err)
	}
	return s
}
