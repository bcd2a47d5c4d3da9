package router

import "strings"

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// What names tell. The words are those of the programs we know (LAMMPS,
// GROMACS, NAMD, CP2K, OpenFOAM, FLASH, AMReX, Megatron-LM, DeepSpeed, PyTorch,
// Lightning, Orbax, HF Trainer, meep, GPAW) and their near kin.
var (
	// strongWords say checkpoint by themselves.
	strongWords = set("ckpt ckp ckpoint chkpt chkpoint checkpoint chk cpt restart restrt rst")
	// weakWords say it with a number beside them: step10, dump2, model_10.
	weakWords = set("ck step globalstep timestep iter iteration epoch dump snapshot snap cycle model state states weights optimizer optim save backup generation")
	// containerWords name directories that hold checkpoints. The directory
	// itself is plain, or everything the program ever puts there would be one
	// dataset.
	containerWords = set("checkpoints ckpts chks restarts snapshots dumps")
	// rankWords are followed by the number of a process or place, not a step.
	rankWords = set("rank processor processors proc node host worker task thread gpu device shard part partition level seed run job exp experiment trial version v array fold replica group")
	// plainDirs are never claimed for standing beside checkpoints.
	plainDirs = set("log logs tensorboard tb wandb runs mlruns plots figures postprocessing constant system src scripts input inputs data")
	// neverDirs hold programs and bookkeeping.
	neverDirs = set(".git .svn .hg __pycache__ site-packages node_modules .ipynb_checkpoints .cache .venv")

	// checkpointExts claim a loose file by themselves.
	checkpointExts = set("ckpt cpt chk chkpt restart rst gpw distcp")
	// numberedExts claim a loose file that has a number in its name.
	numberedExts = set("pt pth safetensors mpiio")
	// streamExts are written for as long as the program runs.
	streamExts = set("log out err csv tsv txt jsonl xtc trr edr dcd xyz ener lammpstrj traj tfevents stdout stderr")
	// sourceExts are what people and scripts write beside a run.
	sourceExts = set("py pyc sh bash csh pl r c cc cpp cu h hpp f f90 jl m java in inp input mdp tpr top gro ndx lmp yaml yml json toml ini cfg conf xml md html ipynb pdf png jpg jpeg gif svg eps tex o so a exe sbatch slurm pbs lsf lock pid swp")

	// loneMarkers say which checkpoint is complete, wherever they stand.
	loneMarkers = set("latest_checkpointed_iteration.txt")
	// besideMarkers do so beside a dataset.
	besideMarkers = set("latest checkpoint last_checkpoint commit_success.txt latest_universal")
)

// A verdict is what a name alone tells, with the reason.
type verdict struct {
	yes bool
	why string
}

// datasetDir says whether a directory's name is that of a dataset.
func datasetDir(name string) verdict {
	if isPlainNumber(name) {
		return verdict{true, "directory name is a number"}
	}
	words := tokens(name)
	for i, w := range words {
		switch {
		case w.isNumber:
			if len(w.text) >= 4 && w.text[0] == '0' && !afterRank(words, i) && len(numbersOf(words)) == 1 {
				return verdict{true, "directory name has the padded number " + w.text}
			}
		case strongWords[w.text]:
			return verdict{true, "directory name has the word " + w.text}
		case weakWords[w.text] && numberBeside(words, i):
			return verdict{true, "directory name has the step word " + w.text}
		}
	}
	return verdict{}
}

// datasetFile says whether a loose file's name is that of a dataset's.
func datasetFile(name string) verdict {
	ext := extension(name)
	if checkpointExts[ext] {
		return verdict{true, "file name ends in ." + ext}
	}
	words := tokens(name)
	if numberedExts[ext] && len(numbersOf(words)) > 0 {
		return verdict{true, "file name has a number and ends in ." + ext}
	}
	for i, w := range words {
		switch {
		case w.isNumber:
		case strongWords[w.text]:
			return verdict{true, "file name has the word " + w.text}
		case weakWords[w.text] && numberBeside(words, i):
			return verdict{true, "file name has the step word " + w.text}
		}
	}
	return verdict{}
}

// neverFile says whether a loose file stays on the prefix directory whatever
// else its name has.
func neverFile(name string) verdict {
	lower := strings.ToLower(name)
	ext := extension(lower)
	switch {
	case streamExts[ext] || strings.HasPrefix(lower, "events.out.tfevents"):
		return verdict{true, "a stream by its name ." + ext}
	case strings.Contains(lower, ".db") || strings.HasPrefix(ext, "sqlite"):
		return verdict{true, "a data base by its name"}
	case sourceExts[ext]:
		return verdict{true, "source or input by its name ." + ext}
	case strings.HasSuffix(lower, "~") || strings.HasPrefix(lower, ".nfs"):
		return verdict{true, "an editor's or NFS's file by its name"}
	}
	return verdict{}
}

// passingExts say only that a file is being written or was set aside.
var passingExts = set("tmp temp part partial new incomplete old bak prev __lock")

// finalName cuts such an extension off: latest.tmp is to become latest.
func finalName(name string) string {
	for {
		i := strings.LastIndexByte(name, '.')
		if i <= 0 || !passingExts[strings.ToLower(name[i+1:])] {
			return name
		}
		name = name[:i]
	}
}

// extension is what follows the last dot of the final name, in lower case.
func extension(name string) string {
	final := finalName(name)
	return strings.ToLower(final[strings.LastIndexByte(final, '.')+1:])
}

// isPlainNumber says whether a name is one number: 100, 0.1, 1e-05.
func isPlainNumber(name string) bool {
	mantissa, exponent, scientific := strings.Cut(name, "e")
	if scientific && !allDigits(strings.TrimLeft(exponent, "+-")) || len(exponent) > 4 {
		return false
	}
	whole, fraction, point := strings.Cut(mantissa, ".")
	return allDigits(whole) && (!point || allDigits(fraction))
}

// numberBeside says whether a number that is no rank's stands before or after
// the word: step10, epoch=3, 10_step.
func numberBeside(words []token, i int) bool {
	if i > 0 && words[i-1].isNumber && !afterRank(words, i-1) {
		return true
	}
	return i+1 < len(words) && words[i+1].isNumber
}

func afterRank(words []token, i int) bool { return i > 0 && rankWords[words[i-1].text] }

// numbersOf returns the numbers that no rank word precedes.
func numbersOf(words []token) []token {
	var out []token
	for i, w := range words {
		if w.isNumber && !afterRank(words, i) {
			out = append(out, w)
		}
	}
	return out
}

func hasWord(name string, words map[string]bool) bool {
	for _, w := range tokens(name) {
		if words[w.text] {
			return true
		}
	}
	return false
}

func hasLetter(name string) bool {
	for i := range len(name) {
		if isLetter(name[i]) {
			return true
		}
	}
	return false
}
