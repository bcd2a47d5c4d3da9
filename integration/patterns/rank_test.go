package patterns

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// rank is one process of a program, seen from inside.
type rank struct {
	n, world int
	dir      string // where it sees the prefix directory
	in       *bufio.Reader
}

// programDone is the exit code of a process whose program could not go on.
const programDone = 3

// play runs a program in this process: the words are its name, rank, world,
// number of checkpoints and directory.
func play(words []string) {
	p, ok := programs[words[0]]
	if !ok {
		fmt.Fprintf(os.Stderr, "no program %q\n", words[0])
		os.Exit(programDone)
	}
	r := &rank{dir: words[4], in: bufio.NewReader(os.Stdin)}
	r.n, _ = strconv.Atoi(words[1])
	r.world, _ = strconv.Atoi(words[2])
	checkpoints, _ := strconv.Atoi(words[3])
	defer func() {
		if v := recover(); v != nil {
			fmt.Fprintf(os.Stderr, "rank %d: %v\n", r.n, v)
			os.Exit(programDone)
		}
	}()
	for k := 1; k <= checkpoints; k++ {
		p.write(r, k)
		r.at("checkpoint")
	}
	os.Exit(0)
}

// at stops until all ranks are at the same point and the test lets them go on.
func (r *rank) at(point string) {
	fmt.Println(point)
	word, err := r.in.ReadString('\n')
	check(err)
	if word == "exit\n" {
		os.Exit(1)
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func (r *rank) path(name string) string { return filepath.Join(r.dir, name) }

// data is what a program writes: bytes that only the words determine.
func data(words string, bytes int) []byte {
	var seed [32]byte
	for i := range len(words) {
		seed[i%32] = seed[i%32]*31 + words[i]
	}
	b := make([]byte, bytes)
	src := rand.NewChaCha8(seed)
	_, _ = src.Read(b) // it never fails
	return b
}

func (r *rank) open(name string, flag int) *os.File {
	f, err := os.OpenFile(r.path(name), flag, 0o644)
	check(err)
	return f
}

// put truncates or makes a file and writes it in pieces of 4 KiB, as stdio does.
func (r *rank) put(name, words string, bytes int) {
	r.fill(r.open(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC), words, bytes)
}

// fill writes and closes a file.
func (r *rank) fill(f *os.File, words string, bytes int) {
	for b := data(words, bytes); len(b) > 0; {
		n := min(len(b), 4096)
		_, err := f.Write(b[:n])
		check(err)
		b = b[n:]
	}
	check(f.Close())
}

// text truncates or makes a small file.
func (r *rank) text(name, s string) {
	f := r.open(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	_, err := f.WriteString(s)
	check(err)
	check(f.Close())
}

func (r *rank) mkdir(name string) { check(os.MkdirAll(r.path(name), 0o755)) }

func (r *rank) rename(from, to string) { check(os.Rename(r.path(from), r.path(to))) }

// renameIfThere is what a program does that keeps one older file.
func (r *rank) renameIfThere(from, to string) {
	if err := os.Rename(r.path(from), r.path(to)); !errors.Is(err, fs.ErrNotExist) {
		check(err)
	}
}

func (r *rank) remove(name string) { check(os.Remove(r.path(name))) }

// removeAll is rmtree.
func (r *rank) removeAll(name string) { check(os.RemoveAll(r.path(name))) }

// copyFile reads one file and writes another, as cp and shutil do.
func (r *rank) copyFile(from, to string) {
	in := r.open(from, os.O_RDONLY)
	out := r.open(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	_, err := io.Copy(struct{ io.Writer }{out}, struct{ io.Reader }{in}) // no copy_file_range
	check(err)
	check(in.Close())
	check(out.Close())
}

func (r *rank) exists(name string) bool {
	_, err := os.Lstat(r.path(name))
	return err == nil
}

// atomic writes beside the file, fsyncs, and renames into place.
func (r *rank) atomic(name, words string, bytes int) {
	f := r.open(name+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	_, err := f.Write(data(words, bytes))
	check(err)
	check(f.Sync())
	check(f.Close())
	r.rename(name+".tmp", name)
}

// list is what a restarting program looks at first.
func (r *rank) list() []string {
	list, err := os.ReadDir(r.dir)
	check(err)
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// launchers are the variables each launcher sets for a rank. job tells two
// starts of a program apart.
var launchers = map[string]func(rank, world int, job string) []string{
	"mpirun": func(rank, world int, job string) []string {
		return []string{
			fmt.Sprintf("OMPI_COMM_WORLD_RANK=%d", rank), fmt.Sprintf("OMPI_COMM_WORLD_SIZE=%d", world),
			fmt.Sprintf("PMIX_RANK=%d", rank), "PMIX_NAMESPACE=" + job,
		}
	},
	"srun": func(rank, world int, job string) []string {
		return []string{
			fmt.Sprintf("SLURM_PROCID=%d", rank), fmt.Sprintf("SLURM_NTASKS=%d", world),
			"SLURM_JOB_ID=77", "SLURM_STEP_ID=" + strings.TrimPrefix(job, "job"),
		}
	},
	"torchrun": func(rank, world int, job string) []string {
		return []string{
			fmt.Sprintf("RANK=%d", rank), fmt.Sprintf("WORLD_SIZE=%d", world), "LOCAL_RANK=0",
			"MASTER_ADDR=127.0.0.1", "MASTER_PORT=29500", "TORCHELASTIC_RUN_ID=" + job,
		}
	},
	"none": func(int, int, string) []string { return nil },
}
