package fusefs

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/scrfs/scrfs/prefixfs"
	"golang.org/x/sys/unix"
)

// maxRequestBytes is the largest read or write request. Larger ones bring
// nothing; the default of 128 KiB costs a third of the speed through this
// process.
const maxRequestBytes = 1 << 20

// Mount is one mounted tree.
type Mount struct {
	mountpoint string
	prefix     *prefixfs.FS
	ns         Namespace
	uid        uint32
	log        *slog.Logger
	table      *table
	server     *fuse.Server

	passthrough bool   // files may be handed to the kernel
	whyNot      string // if not
	directMmap  bool   // the kernel maps files shared that it does not cache (Linux 6.6)
	passFailed  sync.Once

	reads, writes atomic.Int64 // data requests that came to this process

	serve sync.Once
	done  chan struct{}
}

// New mounts. When it returns, the kernel has agreed on the protocol and the
// tree is usable as soon as Serve runs: report ready then. Errors name the
// mount point; nothing stays mounted after one.
func New(opts Options) (*Mount, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	mountpoint, err := filepath.Abs(opts.Mountpoint)
	if err != nil {
		return nil, fmt.Errorf("mount on %s: %w", opts.Mountpoint, err)
	}
	m := &Mount{
		mountpoint: mountpoint,
		prefix:     opts.Prefix,
		ns:         opts.Namespace,
		uid:        opts.AllowUID,
		log:        opts.Log,
		table:      newTable(opts.Prefix.Root()),
		done:       make(chan struct{}),
	}
	// The kernel has applied the caller's umask; ours must not come on top.
	unix.Umask(0)
	if err := m.attach(opts); err != nil {
		return nil, fmt.Errorf("mount on %s: %w", mountpoint, err)
	}
	m.settle(opts)
	return m, nil
}

// attach mounts and agrees with the kernel on the protocol.
func (m *Mount) attach(opts Options) error {
	fuseOpts := &fuse.MountOptions{
		AllowOther:         true,
		Options:            []string{"default_permissions"},
		FsName:             opts.FSName,
		Name:               "scrfs",
		MaxWrite:           maxRequestBytes,
		MaxBackground:      64,
		MaxStackDepth:      1,     // the cache and the prefix lie on plain file systems
		EnableLocks:        false, // the kernel locks by itself, at no cost
		DisableReadDirPlus: true,  // its look-ups would be asked again at once
		Debug:              opts.Debug,
		Logger:             slog.NewLogLogger(opts.Log.Handler(), slog.LevelDebug),
		PanicHandler:       m.panicked,
		// KILLPRIV_V2: without it the kernel asks for security.capability
		// before every write. In return this process clears set-user-id bits.
		ExtraCapabilities: fuse.CAP_HANDLE_KILLPRIV_V2 | fuse.CAP_ATOMIC_O_TRUNC |
			fuse.CAP_ASYNC_DIO | fuse.CAP_DIRECT_IO_ALLOW_MMAP,
	}
	at := m.mountpoint
	fd, err := mountDirect(m.mountpoint, opts.FSName)
	switch {
	case err == nil:
		at = fmt.Sprintf("/dev/fd/%d", fd)
	case !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EACCES):
		return err
	}
	// Without the right to mount(2), go-fuse calls fusermount3.
	m.server, err = fuse.NewServer(&requests{RawFileSystem: fuse.NewDefaultRawFileSystem(), Mount: m}, at, fuseOpts)
	if err != nil && fd >= 0 {
		return errors.Join(err, unix.Unmount(m.mountpoint, unix.MNT_DETACH))
	}
	return err
}

// panicked answers a request whose method panicked: one program sees EIO, the
// others go on.
func (m *Mount) panicked(what any) fuse.Status {
	m.log.Error("BUG: a request panicked", slog.Any("panic", what), slog.String("stack", string(debug.Stack())))
	return fuse.EIO
}

// mountDirect mounts with mount(2) and returns the kernel connection, -1 with
// an error.
func mountDirect(mountpoint, source string) (int, error) {
	var st unix.Stat_t
	if err := unix.Stat(mountpoint, &st); err != nil {
		return -1, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return -1, unix.ENOTDIR
	}
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("/dev/fuse: %w", err)
	}
	data := fmt.Sprintf("fd=%d,rootmode=%o,user_id=%d,group_id=%d,default_permissions,allow_other,max_read=%d",
		fd, st.Mode&unix.S_IFMT, os.Geteuid(), os.Getegid(), maxRequestBytes)
	if err := unix.Mount(source, mountpoint, "fuse.scrfs", unix.MS_NOSUID|unix.MS_NODEV, data); err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// settle finds out what this kernel and our rights allow.
func (m *Mount) settle(opts Options) {
	caps := m.server.KernelSettings().Flags64()
	m.directMmap = caps&fuse.CAP_DIRECT_IO_ALLOW_MMAP != 0
	switch {
	case opts.NoPassthrough:
		m.whyNot = "switched off"
	case caps&fuse.CAP_PASSTHROUGH == 0:
		m.whyNot = "the kernel is older than Linux 6.9"
	default:
		m.whyNot = m.tryPassthrough()
	}
	m.passthrough = m.whyNot == ""
	if m.passthrough {
		m.log.Info("mounted: reads and writes of open files go through the kernel", slog.String("mountpoint", m.mountpoint))
	} else {
		m.log.Info("mounted: all data goes through the daemon, which is slower",
			slog.String("mountpoint", m.mountpoint), slog.String("reason", m.whyNot))
	}
}

// tryPassthrough registers a file in memory and returns why it cannot; "" if
// it can.
func (m *Mount) tryPassthrough() string {
	fd, err := unix.MemfdCreate("scrfs-probe", unix.MFD_CLOEXEC)
	if err != nil {
		return "memfd_create: " + err.Error()
	}
	defer unix.Close(fd)
	id, errno := m.server.RegisterBackingFd(&fuse.BackingMap{Fd: int32(fd)})
	switch errno {
	case 0:
		_ = m.server.UnregisterBackingFd(id)
		return ""
	case unix.EPERM:
		return "the daemon has no CAP_SYS_ADMIN"
	}
	return "the kernel refused: " + errno.Error()
}

// Passthrough tells whether the kernel reads and writes cached files by
// itself, and if not, why.
func (m *Mount) Passthrough() (ok bool, reason string) { return m.passthrough, m.whyNot }

// DataRequests returns how many reads and writes have come to this process
// instead of going through the kernel.
func (m *Mount) DataRequests() (reads, writes int64) { return m.reads.Load(), m.writes.Load() }

// Serve answers the kernel until the tree is unmounted. It must be called
// once.
func (m *Mount) Serve() {
	m.serve.Do(func() {
		defer close(m.done)
		m.server.Serve()
		open, inos := m.table.drain()
		for _, h := range open {
			m.release(h)
		}
		for _, ino := range inos {
			m.forgotten(ino)
		}
	})
}

// Wait returns when Serve has ended.
func (m *Mount) Wait() { <-m.done }

// Unmount takes the tree away; EBUSY while a file of it is open or a process
// stands in it. Wait returns after it.
func (m *Mount) Unmount() error { return m.unmount(0) }

// LazyUnmount takes the tree out of sight at once; it is served until its last
// file is closed.
func (m *Mount) LazyUnmount() error { return m.unmount(unix.MNT_DETACH) }

// Mountpoint is where the tree is mounted.
func (m *Mount) Mountpoint() string { return m.mountpoint }
