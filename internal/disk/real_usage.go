package disk

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// fsTypes maps the magic number of statfs(2) to the name in /proc/mounts.
var fsTypes = map[int64]string{
	unix.EXT4_SUPER_MAGIC:      "ext4", // ext2 and ext3 have the same number
	unix.XFS_SUPER_MAGIC:       "xfs",
	unix.BTRFS_SUPER_MAGIC:     "btrfs",
	unix.TMPFS_MAGIC:           "tmpfs",
	unix.RAMFS_MAGIC:           "ramfs",
	unix.OVERLAYFS_SUPER_MAGIC: "overlay",
	unix.NFS_SUPER_MAGIC:       "nfs",
	unix.FUSE_SUPER_MAGIC:      "fuse",
	unix.V9FS_MAGIC:            "9p",
	0x0bd00bd0:                 "lustre",
	0x47504653:                 "gpfs",
	0x19830326:                 "beegfs",
	0x00c36400:                 "ceph",
	0x2fc12fc1:                 "zfs",
}

func (r *Real) Usage() (Usage, error) {
	d, err := r.openDir(".")
	if err != nil {
		return Usage{}, r.fail("statfs", ".", err)
	}
	defer d.Close()
	var st unix.Statfs_t
	if err := eintr(func() error { return unix.Fstatfs(int(d.Fd()), &st) }); err != nil {
		return Usage{}, r.fail("statfs", ".", err)
	}
	fi, err := d.Stat()
	if err != nil {
		return Usage{}, r.fail("statfs", ".", err)
	}
	name, ok := fsTypes[int64(st.Type)]
	if !ok {
		name = fmt.Sprintf("%#x", st.Type)
	}
	return Usage{
		TotalBytes: int64(st.Blocks) * st.Bsize,
		FreeBytes:  int64(st.Bavail) * st.Bsize,
		FSType:     name,
		Device:     uint64(fi.Sys().(*syscall.Stat_t).Dev),
	}, nil
}
