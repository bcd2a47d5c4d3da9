package indexer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"sync"

	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/xor"
)

// RebuiltRank says what a rebuild brought back.
type RebuiltRank struct {
	Build
	Files     int   // user files and the redundancy file
	SizeBytes int64 // of these
	// Kept lists files that were in the way with other contents and in nobody's
	// filemap; they have these names now.
	Kept []string
}

// Rebuild brings back the lost member of one redundancy set of a dataset
// directory, whatever the state of the others. With missing it is that rank,
// which must be a member, even if nothing seems to be wrong with it; with -1
// it is the one that lacks files, and nothing is done if none does.
//
// Nothing is renamed into place before all of the member's files are whole and
// have the recorded checksums. An error leaves everything as it was.
func (x *Indexer) Rebuild(ctx context.Context, f scr.Family, dir string, set, missing scr.Rank) (done []RebuiltRank, err error) {
	p := scr.Paths{Family: f}
	lock, err := x.lockRebuild(p)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	s, err := x.Scan(ctx, f, dir)
	if err != nil {
		return nil, err
	}
	if err := listed(s.Invalid); err != nil {
		return nil, fmt.Errorf("rebuild set %d of %s: %w", set, dir, err)
	}
	b, err := s.buildOf(set, missing)
	if err != nil || b == nil {
		return nil, err
	}
	return x.rebuild(ctx, s, []Build{*b})
}

// buildOf finds the rebuild that was asked for; nil if there is none to do.
func (s *Scan) buildOf(set, missing scr.Rank) (*Build, error) {
	group := s.Sets[set]
	if group == nil {
		return nil, fmt.Errorf("rebuild %s: it has no redundancy set %d: %w", s.Dir, set, scr.ErrNotFound)
	}
	lost := s.lostMembers(set)
	if len(lost) > 1 {
		ranks := make([]scr.Rank, len(lost))
		for i, member := range lost {
			ranks[i] = s.rankOf(set, member)
		}
		return nil, fmt.Errorf("rebuild %s: set %d has lost ranks %v, its redundancy brings back one\n%s: %w",
			s.Dir, set, ranks, describe(s.Problems), scr.ErrUnrecoverable)
	}
	if missing < 0 {
		if len(lost) == 0 {
			return nil, nil
		}
		return &Build{Set: set, Member: lost[0], Rank: s.rankOf(set, lost[0])}, nil
	}
	for member := range group.Members {
		if s.rankOf(set, member) != missing {
			continue
		}
		if len(lost) == 1 && lost[0] != member {
			return nil, fmt.Errorf("rebuild %s: set %d has lost rank %d, not rank %d: %w", s.Dir, set, s.rankOf(set, lost[0]), missing, scr.ErrInvalid)
		}
		return &Build{Set: set, Member: member, Rank: missing}, nil
	}
	return nil, fmt.Errorf("rebuild %s: rank %d is no member of set %d: %w", s.Dir, missing, set, scr.ErrNotFound)
}

// rebuild brings back the lost members of several sets, several at a time, and
// renames their files when all of them are whole.
func (x *Indexer) rebuild(ctx context.Context, s *Scan, builds []Build) ([]RebuiltRank, error) {
	jobs := make([]*rebuildJob, len(builds))
	for i, b := range builds {
		jobs[i] = &rebuildJob{x: x, scan: s, build: b, temp: s.tempDir(b.Set)}
	}
	err := x.buildAll(ctx, jobs)
	var done []RebuiltRank
	if err == nil {
		for _, j := range jobs {
			r, ierr := j.install()
			if ierr != nil {
				err = fmt.Errorf("rebuild rank %d: %w", j.build.Rank, ierr)
				break
			}
			done = append(done, r)
			x.log.Info("rank rebuilt", slog.Int("dataset", int(s.Dataset.ID)), slog.Int("rank", int(r.Rank)),
				slog.Int("files", r.Files), slog.Int64("bytes", r.SizeBytes))
		}
	}
	for _, j := range jobs {
		err = errors.Join(err, disk.RemoveAll(x.prefix, j.temp))
	}
	return done, err
}

// tempDir is where a set's files are until they are whole.
func (s *Scan) tempDir(set scr.Rank) string {
	return path.Join(s.paths().SCRDir(s.Dir), fmt.Sprintf("rebuild.%d.tmp", set))
}

// buildAll runs the rebuilds within the bounds of memory and processors.
func (x *Indexer) buildAll(ctx context.Context, jobs []*rebuildJob) error {
	const perWorker = 3 * xor.DefaultPieceBytes // see xor.Options
	atOnce := max(1, min(len(jobs), x.o.Workers, int(x.o.MemBytes/(2*perWorker))))
	workers := max(1, min(8, int(x.o.MemBytes/perWorker)/atOnce))
	if atOnce > 1 {
		workers = min(workers, 2)
	} else {
		workers = min(workers, max(2, x.o.Workers))
	}
	meter := newMeter(x.o.Progress, "rebuild", 0)
	var mu sync.Mutex
	var failed []error
	err := parallel(ctx, len(jobs), atOnce, func(i int) error {
		j := jobs[i]
		j.meter = meter
		err := j.run(ctx, xor.Options{Family: j.scan.Family, Workers: workers})
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			failed = append(failed, fmt.Errorf("set %d: %w", j.build.Set, err))
		}
		return err
	})
	if len(failed) > 0 {
		slices.SortFunc(failed, func(a, b error) int { return len(a.Error()) - len(b.Error()) })
		return errors.Join(failed...)
	}
	return err
}

// rebuildJob is one member on its way back.
type rebuildJob struct {
	x     *Indexer
	scan  *Scan
	build Build
	temp  string
	meter *meter

	files  []rebuiltFile
	result xor.Rebuilt
}

// rebuiltFile is one user file.
type rebuiltFile struct {
	temp string // where it is, relative to the prefix directory
	rel  string // where it goes
	name string // in the filemap
}

// run rebuilds into the temporary directory.
func (j *rebuildJob) run(ctx context.Context, o xor.Options) (err error) {
	prefix := j.x.prefix
	if err := disk.RemoveAll(prefix, j.temp); err != nil { // of a rebuild that was killed
		return err
	}
	if err := prefix.Mkdir(j.temp, 0o700); err != nil {
		return err
	}
	survivors, closeAll, err := j.survivors()
	defer func() { err = errors.Join(err, closeAll()) }()
	if err != nil {
		return err
	}
	j.result, err = xor.Rebuild(ctx, survivors, &rebuildSink{j, map[string]bool{}}, o)
	if err != nil {
		return err
	}
	if got := j.result.Header.Current.Rank; got != j.build.Rank && j.build.Rank >= 0 {
		return fmt.Errorf("the set lacks rank %d, not rank %d: %w", got, j.build.Rank, scr.ErrInvalid)
	}
	return j.verify()
}

// survivors opens the members of the set that are there.
func (j *rebuildJob) survivors() (members []xor.MemberData, closeAll func() error, err error) {
	pool := newFilePool(j.x.prefix)
	set := j.scan.Sets[j.build.Set]
	for member := range set.Members {
		f, ok := set.Files[member]
		if !ok || member == j.build.Member {
			continue
		}
		m, err := j.survivor(pool, member)
		if err != nil {
			return nil, pool.close, fmt.Errorf("rank %d: file %q: %w", f.Rank, f.Name, err)
		}
		members = append(members, m)
	}
	return members, pool.close, nil
}

func (j *rebuildJob) survivor(pool *filePool, member int) (xor.MemberData, error) {
	s, f := j.scan, j.scan.Sets[j.build.Set].Files[member]
	h, headerBytes, err := s.readHeaderOf(j.x.prefix, f)
	if err != nil {
		return xor.MemberData{}, err
	}
	rel, err := redundancyName(s.paths(), s.Dir, f.Name)
	if err != nil {
		return xor.MemberData{}, err
	}
	good := map[string]int64{}
	for _, file := range s.Entries[f.Rank].Files {
		good[file.Name] = file.SizeBytes
	}
	if got, want := good[f.Name], headerBytes+h.ChunkBytes; got != want {
		return xor.MemberData{}, fmt.Errorf("%d bytes, by its header it should have %d: %w", got, want, scr.ErrInvalid)
	}
	m := xor.MemberData{Header: h, Payload: pool.file(rel, headerBytes)}
	for _, meta := range h.Current.Files {
		rel, name, err := s.place(j.x.dir, meta)
		if err != nil {
			return m, fmt.Errorf("in its header: %w", err)
		}
		if size, ok := good[name]; !ok || size != meta.SizeBytes {
			return m, fmt.Errorf("its header has %q of %d bytes, the filemap does not: %w", name, meta.SizeBytes, scr.ErrInvalid)
		}
		m.Files = append(m.Files, pool.file(rel, 0))
	}
	return m, nil
}

// verify compares what was rebuilt with what the lost rank's own filemap says,
// if that is there: the header knows no checksums.
func (j *rebuildJob) verify() error {
	e := j.scan.Entries[j.build.Rank]
	if e == nil {
		return nil
	}
	known := map[string]scr.FileRecord{}
	for _, f := range e.Files {
		known[f.Name] = f
	}
	for name, f := range e.bad {
		known[name] = f
	}
	for i, f := range j.result.Files {
		want, ok := known[j.files[i].name]
		if !ok {
			continue
		}
		if want.SizeBytes != f.SizeBytes || want.HasCRC && want.CRC != f.CRC {
			return fmt.Errorf("rank %d: file %q: rebuilt with %d bytes and crc %v, recorded are %d bytes and crc %v: %w",
				j.build.Rank, want.Name, f.SizeBytes, f.CRC, want.SizeBytes, want.CRC, scr.ErrCorrupt)
		}
	}
	return nil
}

// install renames what was rebuilt into place: user files, the redundancy file,
// and last the filemap that vouches for them.
func (j *rebuildJob) install() (RebuiltRank, error) {
	s, p, prefix := j.scan, j.scan.paths(), j.x.prefix
	r := RebuiltRank{Build: j.build, Files: len(j.files) + 1}
	dirs := map[string]bool{p.SCRDir(s.Dir): true}
	for i, f := range j.files {
		r.SizeBytes += j.result.Files[i].SizeBytes
		kept, err := j.installFile(i, f)
		if err != nil {
			return r, fmt.Errorf("file %q: %w", f.name, err)
		}
		if kept != "" {
			r.Kept = append(r.Kept, kept)
		}
		dirs[path.Dir(f.rel)] = true
	}
	red := j.result.Redundancy
	r.SizeBytes += red.SizeBytes
	if err := prefix.Rename(path.Join(j.temp, red.File), p.Redundancy(s.Dir, red.File)); err != nil {
		return r, err
	}
	for dir := range dirs {
		if err := prefix.SyncDir(dir); err != nil {
			return r, err
		}
	}
	return r, scr.WriteFilemap(prefix, p.RankFilemap(s.Dir, j.build.Rank), j.filemap())
}

// installFile renames one user file. A file that is as it should be stays; one
// that nobody's filemap lists and that has other contents is kept under another
// name: it may be of a later dataset that uses the same names.
func (j *rebuildJob) installFile(i int, f rebuiltFile) (kept string, err error) {
	prefix, e, meta := j.x.prefix, j.scan.Entries[j.build.Rank], j.result.Files[i]
	listed := false
	if e != nil {
		if k := slices.IndexFunc(e.Files, func(r scr.FileRecord) bool { return r.Name == f.name }); k >= 0 {
			if r := e.Files[k]; r.HasCRC && r.CRC == meta.CRC && !j.x.o.NoCRC {
				return "", nil
			}
			listed = true
		}
		if _, ok := e.bad[f.name]; ok {
			listed = true
		}
	}
	if err := disk.MkdirAll(prefix, path.Dir(f.rel), dirPerm); err != nil {
		return "", err
	}
	fi, err := prefix.Lstat(f.rel)
	if err == nil && !listed && fi.Mode().IsRegular() {
		equal, cerr := j.hasContents(f.rel, fi, meta)
		if cerr != nil || equal {
			return "", cerr
		}
	}
	if err == nil && !listed || err == nil && fi.IsDir() {
		kept = path.Join(j.scan.paths().SCRDir(j.scan.Dir), fmt.Sprintf("kept.%d.%d", j.build.Rank, i))
		if err := prefix.RenameNoReplace(f.rel, kept); err != nil {
			return "", fmt.Errorf("keep what is in the way: %w", err)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return kept, prefix.Rename(f.temp, f.rel)
}

func (j *rebuildJob) hasContents(rel string, fi fs.FileInfo, meta scr.FileMeta) (bool, error) {
	if fi.Size() != meta.SizeBytes {
		return false, nil
	}
	crc, err := checksum(context.Background(), j.x.prefix, rel, newMeter(nil, "", 0))
	return crc == meta.CRC, err
}

// filemap is that of the rebuilt rank, as a scavenge would have left it.
func (j *rebuildJob) filemap() *scr.Filemap {
	s, p, id, rank := j.scan, j.scan.paths(), j.scan.Dataset.ID, j.build.Rank
	m := scr.NewFilemap().InFamily(s.Family)
	m.SetExpectedFiles(id, rank, len(j.files)+1)
	m.SetDataset(id, rank, j.result.Header.Dataset)
	for i, f := range j.files {
		m.SetMeta(id, rank, f.name, j.result.Files[i])
	}
	red := j.result.Redundancy
	m.SetMeta(id, rank, p.NameIn(s.Dir, p.Redundancy(s.Dir, red.File)), red)
	flush, tree := s.common()
	if flush != nil && s.Family == scr.F12 {
		m.Entry(id, rank).Sub("FLUSH") // empty, as release 1.2 leaves it
	} else if flush != nil {
		m.SetFlush(id, rank, *flush)
	}
	m.SetDirTree(id, rank, tree)
	return m
}

// common is what all ranks have alike, from the lowest that has it.
func (s *Scan) common() (flush *scr.FlushDescriptor, tree scr.DirTree) {
	for r := range scr.Rank(s.Ranks) {
		e := s.Entries[r]
		if e == nil {
			continue
		}
		if flush == nil {
			flush = e.flush
		}
		if tree.Empty() {
			tree = e.Tree
		}
		if flush != nil && !tree.Empty() {
			break
		}
	}
	return flush, tree
}
