package indexer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
)

// Entry is a dataset of the index.
type Entry struct {
	scr.IndexEntry
	Family scr.Family
	// Current: the one to restart from.
	Current bool
}

// List returns the datasets of the index, newest first, those of one id by
// name. It takes no lock and changes nothing.
func (x *Indexer) List(context.Context) ([]Entry, error) {
	var all []Entry
	for _, f := range scr.Families() {
		p := scr.Paths{Family: f}
		entries, err := entriesOf(x.prefix, p)
		if err != nil {
			return nil, fmt.Errorf("index of %s: %w", x.dir, err)
		}
		current, err := x.current(p)
		if err != nil {
			return nil, fmt.Errorf("index of %s: %w", x.dir, err)
		}
		for _, e := range entries {
			all = append(all, Entry{IndexEntry: e, Family: f, Current: e.Name == current})
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int {
		if a.ID != b.ID {
			return int(b.ID - a.ID)
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all, nil
}

// current is the name of the dataset to restart from, "" if there is none.
func (x *Indexer) current(p scr.Paths) (string, error) {
	if p.Current() == "" {
		index, err := scr.ReadIndex(x.prefix, p)
		if err != nil {
			return "", err
		}
		name, _ := index.Current()
		return name, nil
	}
	target, err := x.prefix.Readlink(p.Current())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if path.IsAbs(target) { // of a time when the prefix directory may have been elsewhere
		return path.Base(target), nil
	}
	return path.Clean(target), nil
}

// find returns the one entry that a name or id stands for.
func (x *Indexer) find(ctx context.Context, nameOrID string) (Entry, error) {
	all, err := x.List(ctx)
	if err != nil {
		return Entry{}, err
	}
	name := path.Clean(nameOrID)
	if rel, ok := strings.CutPrefix(name, strings.TrimSuffix(x.dir, "/")+"/"); ok {
		name = rel
	}
	found := slices.DeleteFunc(slices.Clone(all), func(e Entry) bool { return e.Name != name })
	if len(found) == 0 {
		found = slices.DeleteFunc(slices.Clone(all), func(e Entry) bool { return e.ID.String() != nameOrID })
	}
	switch len(found) {
	case 0:
		return Entry{}, fmt.Errorf("dataset %q is not in the index of %s: %w", nameOrID, x.dir, scr.ErrNotFound)
	case 1:
		return found[0], nil
	}
	names := make([]string, len(found))
	for i, e := range found {
		names[i] = fmt.Sprintf("%s (dataset %d)", e.Name, e.ID)
	}
	return Entry{}, fmt.Errorf("dataset %q is %s: %w", nameOrID, strings.Join(names, ", "), scr.ErrAmbiguous)
}

// Remove takes a dataset out of the index. Its files stay. If it was the
// current one there is none afterwards.
func (x *Indexer) Remove(ctx context.Context, nameOrID string) (Entry, error) {
	if _, err := x.RollForward(ctx); err != nil {
		return Entry{}, err
	}
	e, err := x.find(ctx, nameOrID)
	if err != nil {
		return e, fmt.Errorf("index: remove: %w", err)
	}
	p := scr.Paths{Family: e.Family}
	if link := p.Current(); link != "" && e.Current {
		// The link first: without it nobody restarts from what is not indexed.
		if err := errors.Join(x.prefix.Remove(link), x.prefix.SyncDir(".")); err != nil {
			return e, fmt.Errorf("index: remove %s: %w", e.Name, err)
		}
	}
	err = scr.UpdateIndex(x.prefix, p, func(index *scr.Index) error { return index.Remove(e.Name) })
	if err != nil {
		return e, fmt.Errorf("index: remove %s: %w", e.Name, err)
	}
	return e, nil
}

// SetCurrent makes a dataset the one to restart from. It must be a complete
// checkpoint (scr.ErrIncomplete, scr.ErrInvalid). That a fetch of it failed
// once is forgotten: the user knows better.
func (x *Indexer) SetCurrent(ctx context.Context, nameOrID string) (Entry, error) {
	if _, err := x.RollForward(ctx); err != nil {
		return Entry{}, err
	}
	e, err := x.find(ctx, nameOrID)
	if err == nil {
		err = x.setCurrent(e)
	}
	if err != nil {
		return e, fmt.Errorf("index: set current: %w", err)
	}
	e.Current = true
	return e, nil
}

func (x *Indexer) setCurrent(e Entry) error {
	switch {
	case e.Complete != scr.LimitOf(1):
		return fmt.Errorf("dataset %s: %w", e.Name, scr.ErrIncomplete)
	case e.Dataset == nil || e.Dataset.Checkpoint == 0:
		return fmt.Errorf("dataset %s is no checkpoint: %w", e.Name, scr.ErrInvalid)
	}
	p := scr.Paths{Family: e.Family}
	if err := scr.UpdateIndex(x.prefix, p, func(index *scr.Index) error {
		e.Failed = nil
		if err := index.Put(e.IndexEntry); err != nil || p.Current() != "" {
			return err
		}
		return index.SetCurrent(e.Name)
	}); err != nil {
		return err
	}
	if p.Current() == "" {
		return nil
	}
	return x.relink(p.Current(), e.Name)
}

// relink points a symbolic link at something else in one step.
func (x *Indexer) relink(link, target string) error {
	for n := range 100 { // leftovers of crashes
		temp := "." + link + ".tmp-" + strconv.Itoa(n)
		err := x.prefix.Symlink(target, temp)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := x.prefix.Rename(temp, link); err != nil {
			return errors.Join(err, disk.RemoveAll(x.prefix, temp))
		}
		return x.prefix.SyncDir(path.Dir(link))
	}
	return fmt.Errorf("link %s: temporary names are all taken: %w", link, fs.ErrExist)
}
