package patterns

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// program is one way to write checkpoints.
type program struct {
	write    func(r *rank, k int) // one checkpoint, the first is 1
	launcher string
	// want is what the dataset of checkpoint k holds, as name@rank; %s names
	// are filled in by the function. nil: everything is bypassed.
	want func(k int) []string
}

// words fills in the number of a checkpoint.
func words(format string, args ...any) []string { return strings.Fields(fmt.Sprintf(format, args...)) }

// programs are all those played, by name.
var programs map[string]program

func init() {
	programs = map[string]program{
		"lammps": {lammps, "mpirun", func(k int) []string {
			return words("pp.%[1]d.base.restart@0 pp.%[1]d.0.restart@0 pp.%[1]d.1.restart@1 pp.%[1]d.2.restart@2 pp.%[1]d.3.restart@3", 50*k)
		}},
		"lammps-alternating": {alternating, "mpirun", func(k int) []string {
			return []string{[]string{"alt.a.restart@0", "alt.b.restart@0"}[k%2]}
		}},
		"gromacs": {gromacs, "mpirun", func(k int) []string {
			if k == 1 {
				return words("state.cpt@0")
			}
			return words("state.cpt@0 state_prev.cpt@0")
		}},
		"openfoam": {openfoam, "mpirun", func(k int) []string {
			var list []string
			for r := range 4 {
				list = append(list, words("processor%[1]d/0.%[2]d/U@%[1]d processor%[1]d/0.%[2]d/p@%[1]d processor%[1]d/0.%[2]d/phi@%[1]d processor%[1]d/0.%[2]d/uniform/time@%[1]d", r, k)...)
			}
			return list
		}},
		"amrex": {amrex, "mpirun", func(k int) []string {
			return words("chk%05[1]d/Header@0 chk%05[1]d/Level_0/Cell_D_00000@0 chk%05[1]d/Level_0/Cell_D_00001@1 chk%05[1]d/Level_0/Cell_H@0", 10*k)
		}},
		"flash": {flash, "srun", func(k int) []string { return words("flash_hdf5_chk_%04d@0", k) }},
		"cp2k":  {cp2k, "mpirun", func(k int) []string { return words("h2-1.restart@0") }},
		"namd": {namd, "none", func(k int) []string {
			return words("run.restart.coor@- run.restart.vel@- run.restart.xsc@-")
		}},
		"qe":     {qe, "mpirun", nil},
		"vasp":   {vasp, "mpirun", nil},
		"nwchem": {nwchem, "mpirun", nil},
		"torch-atomic": {torchAtomic, "torchrun", func(k int) []string {
			return words("ckpt_%[1]d_rank0.pt@0 ckpt_%[1]d_rank1.pt@1 ckpt_%[1]d_rank2.pt@2 ckpt_%[1]d_rank3.pt@3", k)
		}},
		"torch-one": {torchOne, "torchrun", func(int) []string { return words("ckpt.pt@0") }},
		"dcp": {dcp, "torchrun", func(k int) []string {
			return words("step_%[1]d/.metadata@0 step_%[1]d/__0_0.distcp@0 step_%[1]d/__1_0.distcp@1 step_%[1]d/__2_0.distcp@2 step_%[1]d/__3_0.distcp@3", 10*k)
		}},
		"megatron": {megatron, "torchrun", func(k int) []string {
			return words("iter_%07[1]d/mp_rank_00/model_optim_rng.pt@0 iter_%07[1]d/mp_rank_01/model_optim_rng.pt@1 iter_%07[1]d/mp_rank_02/model_optim_rng.pt@2 iter_%07[1]d/mp_rank_03/model_optim_rng.pt@3 latest_checkpointed_iteration.txt@0", 10*k)
		}},
		"megatron-dist": {megatronDist, "srun", func(k int) []string {
			return words("iter_%07[1]d/.metadata@0 iter_%07[1]d/__0_0.distcp@0 iter_%07[1]d/__1_0.distcp@1 iter_%07[1]d/__2_0.distcp@2 iter_%07[1]d/__3_0.distcp@3 iter_%07[1]d/common.pt@0 iter_%07[1]d/metadata.json@0 latest_checkpointed_iteration.txt@0", 10*k)
		}},
		"deepspeed": {deepspeed, "torchrun", func(k int) []string {
			return words("global_step%[1]d/mp_rank_00_model_states.pt@0 global_step%[1]d/zero_pp_rank_0_mp_rank_00_optim_states.pt@0 global_step%[1]d/zero_pp_rank_1_mp_rank_00_optim_states.pt@1 global_step%[1]d/zero_pp_rank_2_mp_rank_00_optim_states.pt@2 global_step%[1]d/zero_pp_rank_3_mp_rank_00_optim_states.pt@3 latest@0", 10*k)
		}},
		"hf": {hf, "torchrun", func(k int) []string {
			return words("checkpoint-%[1]d/model.safetensors@0 checkpoint-%[1]d/optimizer.pt@0 checkpoint-%[1]d/scheduler.pt@0 checkpoint-%[1]d/rng_state_0.pth@0 checkpoint-%[1]d/rng_state_1.pth@1 checkpoint-%[1]d/rng_state_2.pth@2 checkpoint-%[1]d/rng_state_3.pth@3 checkpoint-%[1]d/trainer_state.json@0", 10*k)
		}},
		"lightning": {lightning, "torchrun", func(k int) []string {
			return words("epoch=%[1]d-step=%[2]d.ckpt@0", k, 10*k)
		}},
		"orbax": {orbax, "srun", func(k int) []string {
			list := words("%[1]d/_METADATA@0 %[1]d/commit_success.txt@0", 10*k)
			for r := range 4 {
				list = append(list, words("%[1]d/default/ocdbt.process_%[2]d/d/%[3]x@%[2]d %[1]d/default/ocdbt.process_%[2]d/manifest.ocdbt@%[2]d", 10*k, r, data(fmt.Sprint("hash", k, r), 8))...)
			}
			return list
		}},
		// Played by other tests.
		"restarting": {write: restarting},
		"dying":      {write: dying},
	}
}

// world is the number of ranks, two on each of two nodes.
const world = 4

// checkpoints is how many each program writes: the third is the first that can
// follow what was learned.
const checkpoints = 3

func TestProgramsGetTheirBoundariesRanksAndFiles(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		if programs[name].launcher == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playThrough(t, name)
		})
	}
}

func playThrough(t *testing.T, name string) {
	p := programs[name]
	s := mount(t, 2)
	j := start(t, name, p.launcher, "job1", checkpoints, s.onNodes())
	for k := 1; k <= checkpoints; k++ {
		if !j.runTo("checkpoint") {
			t.Fatalf("the program ended at checkpoint %d: %s", k, j.said())
		}
		st := s.await(fmt.Sprintf("the boundary of checkpoint %d", k), settled)
		var want []string
		if p.want != nil {
			want = p.want(k)
			if got := len(st.Datasets); got != k {
				t.Errorf("checkpoint %d: %d datasets, want %d: %+v", k, got, k, st.Datasets)
			}
		}
		slices.Sort(want)
		for i, m := range s.mounts {
			if got := newest(t, m); !slices.Equal(got, want) {
				t.Errorf("checkpoint %d on node %d: the newest dataset has\n%s\nwant\n%s", k, i, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		s.nothingBeneath(want)
		j.release()
	}
	if point := j.next(); point != "" {
		t.Fatalf("the program is at %q, not at its end", point)
	}
	want := tree(t, inPlain(t, name, world, checkpoints))
	for i, m := range s.mounts {
		compare(t, fmt.Sprintf("node %d before the flush", i), tree(t, m), want)
	}
	s.flush()
	compare(t, "the prefix directory", tree(t, s.prefix), want)
	if p.want != nil {
		s.ranksOnPrefix(p.want(checkpoints))
	}
	for i, m := range s.mounts {
		compare(t, fmt.Sprintf("node %d after the flush", i), tree(t, m), want)
	}
}

// ranksOnPrefix looks into the rank2file maps for the rank of each file. Files
// of a program without ranks go to one of two: its nodes.
func (s *site) ranksOnPrefix(want []string) {
	s.t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(s.prefix, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "rank2file.scr" {
			return err
		}
		dir, err := filepath.Rel(s.prefix, filepath.Dir(filepath.Dir(name)))
		if err != nil {
			return err
		}
		files, ranks := s.published(dir)
		for _, f := range files {
			rel, rank, _ := strings.Cut(f, "@")
			got[filepath.Join(dir, rel)] = fmt.Sprintf("%s of %d", rank, ranks)
		}
		return nil
	})
	must(s.t, err)
	for _, w := range want {
		name, rank, _ := strings.Cut(w, "@")
		rank += fmt.Sprintf(" of %d", world)
		if strings.HasPrefix(rank, "-") {
			rank = "0 of 2"
		}
		if got[name] != rank {
			s.t.Errorf("%s has rank %q in the summary, want %q", name, got[name], rank)
		}
	}
}

// onNodes are the directories of the ranks, in blocks over the nodes.
func (s *site) onNodes() []string {
	var dirs []string
	for r := range world {
		dirs = append(dirs, s.mounts[r*len(s.mounts)/world])
	}
	return dirs
}

func compare(t *testing.T, where string, got, want map[string]string) {
	t.Helper()
	for name, w := range want {
		if got[name] != w {
			t.Errorf("%s: %s is %q, want %q", where, name, got[name], w)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s should not be there", where, name)
		}
	}
}

func sum(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b))[:16] }

// newest is what the newest dataset holds, as name@rank, seen through a mount.
func newest(t *testing.T, dir string) []string {
	t.Helper()
	datasets := map[int][]string{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		id := xattr(name, "user.scr.dataset")
		if id == "" {
			return nil
		}
		var n int
		if _, err := fmt.Sscan(id, &n); err != nil {
			return err
		}
		rank := xattr(name, "user.scr.rank")
		if rank == "" {
			rank = "-"
		}
		rel, _ := filepath.Rel(dir, name)
		datasets[n] = append(datasets[n], rel+"@"+rank)
		return nil
	})
	must(t, err)
	if len(datasets) == 0 {
		return nil
	}
	list := datasets[slices.Max(slices.Collect(maps.Keys(datasets)))]
	slices.Sort(list)
	return list
}

func xattr(name, attr string) string {
	b := make([]byte, 64)
	n, err := unix.Lgetxattr(name, attr, b)
	if err != nil {
		return ""
	}
	return string(b[:n])
}

// nothingBeneath looks that no file of a dataset is on the prefix directory.
func (s *site) nothingBeneath(files []string) {
	s.t.Helper()
	for _, f := range files {
		name, _, _ := strings.Cut(f, "@")
		if _, err := os.Lstat(filepath.Join(s.prefix, name)); !errors.Is(err, fs.ErrNotExist) {
			s.t.Errorf("%s is on the prefix directory before its dataset was flushed: %v", name, err)
		}
	}
}
