package disk

import (
	"os"
	"path"

	"golang.org/x/sys/unix"
)

func (r *Real) Rename(oldname, newname string) error {
	return r.failTwo("rename", oldname, newname, r.rename(oldname, newname, 0))
}

// RenameNoReplace falls back to link and unlink where the file system has no
// RENAME_NOREPLACE (NFS, older Lustre), which a crash may leave half done with
// both names there.
func (r *Real) RenameNoReplace(oldname, newname string) error {
	err := r.rename(oldname, newname, unix.RENAME_NOREPLACE)
	if err == unix.EINVAL || err == unix.ENOSYS || err == unix.EOPNOTSUPP {
		err = r.renameByLink(oldname, newname, err)
	}
	return r.failTwo("rename", oldname, newname, err)
}

func (r *Real) Exchange(a, b string) error {
	return r.failTwo("exchange", a, b, r.rename(a, b, unix.RENAME_EXCHANGE))
}

// rename works in descriptors of the two directories, which were opened
// through the root, so that neither name leaves it. It does not use
// os.Root.Rename, which never replaces a directory.
func (r *Real) rename(oldname, newname string, flags uint) error {
	o, n, err := cleanTwo(oldname, newname)
	if err != nil {
		return err
	}
	od, err := r.openDir(path.Dir(o))
	if err != nil {
		return err
	}
	defer od.Close()
	nd, err := r.openDir(path.Dir(n))
	if err != nil {
		return err
	}
	defer nd.Close()
	if flags == 0 {
		return eintr(func() error {
			return unix.Renameat(int(od.Fd()), path.Base(o), int(nd.Fd()), path.Base(n))
		})
	}
	return eintr(func() error {
		return unix.Renameat2(int(od.Fd()), path.Base(o), int(nd.Fd()), path.Base(n), flags)
	})
}

// renameByLink never replaces a file. A directory cannot be linked: there, an
// empty directory made by somebody else in the last moment would be replaced,
// which loses nothing. why is returned if old cannot be moved at all.
func (r *Real) renameByLink(oldname, newname string, why error) error {
	o, n, err := cleanTwo(oldname, newname)
	if err != nil {
		return err
	}
	fi, err := r.root.Lstat(o)
	if err != nil {
		return err
	}
	if !fi.IsDir() {
		if err := r.root.Link(o, n); err != nil {
			return err
		}
		return r.root.Remove(o)
	}
	switch _, err := r.root.Lstat(n); {
	case err == nil:
		return unix.EEXIST
	case !os.IsNotExist(err):
		return err
	}
	if err := r.rename(o, n, 0); err != unix.EINVAL {
		return err
	}
	return why
}
