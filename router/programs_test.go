package router

import (
	"strings"
	"testing"
)

// How programs name what they write, without any rule. Each line is a program
// and what must come out:
//
//	dir D     D is a new directory and becomes a dataset directory
//	plain D   D is a new directory and stays plain
//	in F      F is claimed, by a directory above it
//	loose F   F is claimed by its own name
//	commit F  F is claimed and ends its dataset
//	pfs F     F is bypassed
//
// Words after the path are the siblings in its directory.
const programs = `
LAMMPS per rank      | loose pp.50.0.restart; loose pp.100.base.restart; loose nf.200.1.restart; pfs log.lammps; pfs in.pp
LAMMPS alternating   | pfs alt.a; pfs alt.b; pfs final.data; in restart/pp.5.0.restart; plain restarts; loose restarts/pp.5.0.restart
LAMMPS mpiio         | loose m.100.mpiio; pfs m.100.mpiio.locktest.3
LAMMPS input         | pfs in.restart.in; pfs dump.lammpstrj; pfs restart.sh
GROMACS              | loose state_step1300.cpt; loose state.cpt; loose state_prev.cpt; pfs md.log; pfs md.xtc; pfs md.edr; pfs md.gro; pfs t.tpr
OpenFOAM             | dir processor0/0.1; in processor0/0.1/U; in processor3/0.5/uniform/functionObjects/functionObjectProperties; dir processors4/0.2; plain processor0; plain processors4; dir 1e-05; dir 100
OpenFOAM case        | plain constant 0.1 0.2; plain system 0.1 0.2; plain postProcessing 0.1 0.2; plain processor3 processor0 processor1 processor2; pfs log.simpleFoam
torch.save rank 0    | loose ckpt_2.pt; loose model_10.pt; loose ckpt_4_rank1.pt; pfs model.pt; pfs train.py
torch.save atomic    | loose ckpt.pt.tmp; loose ckpt.pt
PyTorch DCP          | dir step_2; dir step-2; in step_2/__0_5.distcp; in step_2/.metadata.tmp; in step_2/.metadata
Megatron legacy      | dir iter_0000010; in iter_0000010/mp_rank_00_001/model_optim_rng.pt; commit latest_checkpointed_iteration.txt
Megatron torch_dist  | in iter_0000010/__3_1.distcp; in iter_0000010/metadata.json; in iter_0000010/common.pt
DeepSpeed            | dir global_step10; in global_step10/zero_pp_rank_1_mp_rank_00_optim_states.pt; commit latest global_step10; loose latest.tmp global_step10; pfs latest; pfs zero_to_fp32.py global_step10
HF Trainer           | dir checkpoint-10; in checkpoint-10/trainer_state.json; in checkpoint-10/rng_state_3.pth; in checkpoint-10/model-00001-of-00002.safetensors; plain runs checkpoint-10 checkpoint-20; pfs runs/events.out.tfevents.1700000000.host; pfs trainer.log
Lightning            | loose epoch=1-step=10.ckpt; loose last.ckpt; plain version_0; plain lightning_logs; plain version_2 version_0 version_1; dir checkpoint
Lightning folder     | plain checkpoints; loose lightning_logs/version_0/checkpoints/epoch=3-step=40.ckpt; pfs lightning_logs/version_0/metrics.csv; pfs lightning_logs/version_0/hparams.yaml
Orbax                | dir 10.orbax-checkpoint-tmp; in 10.orbax-checkpoint-tmp/default/ocdbt.process_0/d/5f3a; in 10.orbax-checkpoint-tmp/commit_success.txt; dir 10; dir 20
AMReX                | dir chk00010.temp; in chk00010.temp/Level_0/Cell_D_00001; in chk00010.temp/Header; dir chk00010; dir chk00010.old.1732180000; dir plt00020
FLASH                | loose flash_hdf5_chk_0004; pfs flash.dat; pfs flash.par
HDF5, MPI-IO         | loose ck.1.h5; loose ck.2.1.h5; loose ck.1.bin; loose ck.1.h5.locktest.0; pfs ck.h5; pfs input.h5; pfs data_10.h5
CP2K                 | loose h2-1.restart; loose h2-1.restart.bak-1; loose h2-1_2.restart; loose h2-RESTART.wfn; loose h2-RESTART.wfn.bak-3; pfs h2-1.ener; pfs h2-pos-1.xyz; pfs h2o.inp
NAMD                 | loose run.restart.coor; loose run.restart.coor.old; loose run.restart.xsc; pfs run.dcd; pfs run.coor
meep                 | dir dump2; in dump2/rank00/fields.h5; in dump4/rank01/structure.h5; pfs m.py
QE                   | plain si.save; pfs si.save/charge-density.dat; pfs si.update; pfs si.msd.dat
VASP                 | pfs WAVECAR; pfs CHGCAR; pfs CONTCAR; pfs OUTCAR
NWChem               | pfs h2o.db; pfs h2o.db-journal; pfs h2o.movecs
GPAW                 | loose ck.gpw; pfs h2.txt; pfs md.traj
shell loop           | dir ckpt.1; in ckpt.1/rank_0.dat; dir run/ckpt.0010; in run/ckpt.0010/a/b/c
TensorFlow           | loose model.ckpt-100.index; commit checkpoint model.ckpt-100.index; loose checkpoint; loose checkpoint checkpoint
never                | pfs .git/config; plain .git; plain __pycache__; plain site-packages; pfs site-packages/torch/checkpoint2.py; plain ckpt_logs/../logs; pfs checkpoint.py; pfs restart.txt; pfs step_10.log; pfs run.out; pfs run.err; pfs core.1234; pfs slurm-4711.out; pfs .scr/ckpt.1; pfs a/.scr/index.scr; plain .scr
siblings             | plain best; dir best step_10 step_20; plain best step_10; dir foo_3 foo_1 foo_2; plain foo_3 foo_1; plain rank3 rank1 rank2; plain 2026-11-21 2026-11-19 2026-11-20; dir out_0001; plain out_001; plain a0001_b0002; plain .hidden step_10 step_20; dir .ckpt-1; plain logs step_10 step_20
`

func TestProgramsNeedNoRules(t *testing.T) {
	for line := range strings.Lines(strings.TrimSpace(programs)) {
		program, cases, _ := strings.Cut(strings.TrimSpace(line), "|")
		t.Run(strings.TrimSpace(program), func(t *testing.T) {
			for c := range strings.SplitSeq(cases, ";") {
				words := strings.Fields(c)
				checkProgram(t, words[0], words[1], words[2:])
			}
		})
	}
}

func checkProgram(t *testing.T, want, name string, siblings []string) {
	t.Helper()
	kind := File
	if want == "dir" || want == "plain" {
		kind = Dir
	}
	var table *Table
	d := table.Route(name, kind, Context{Siblings: siblings})
	got := "pfs"
	switch {
	case !d.Claim && kind == Dir:
		got = "plain"
	case !d.Claim:
	case d.Root:
		got = "dir"
	case d.Commit:
		got = "commit"
	case d.RootPath != "":
		got = "in"
	default:
		got = "loose"
	}
	if got != want {
		t.Errorf("%s beside %v: got %s, want %s (%s)", name, siblings, got, want, d.Rule)
	}
	if d.Rule == "" {
		t.Errorf("%s: no reason given", name)
	}
	if d.Output || d.Inplace {
		t.Errorf("%s: output or inplace without a rule: %+v", name, d)
	}
}
