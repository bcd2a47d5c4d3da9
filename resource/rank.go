package resource

import (
	"strconv"
	"strings"

	"github.com/scrfs/scrfs/scr"
)

// NoRank is the rank of a process that no launcher gave one.
const NoRank scr.Rank = -1

// Identity is who a process is to its launcher.
type Identity struct {
	Rank  scr.Rank // NoRank if the environment names none
	World int      // ranks of the application, 0 if unknown
	// App names the application: launcher and name space or step. "" if the
	// environment does not tell.
	App string
	// PID is the process itself, 0 if it is gone. Top is set if no ancestor is
	// the same rank: its end is the end of the rank.
	PID int
	Top bool

	restarts bool // the launcher gives the same App again when it is restarted
}

// launcher is one way of naming ranks. The first whose rank variable is set
// and a number counts: the innermost launcher comes first, since variables of
// an outer one (srun starting mpirun) are inherited.
type launcher struct {
	rank, world string
	app         []string
}

var launchers = []launcher{
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", []string{"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}},
	{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", []string{"PMI_JOBID", "PMI_ID"}},
	{"PALS_RANKID", "PALS_NRANKS", []string{"PALS_APID"}},
	{"FLUX_TASK_RANK", "FLUX_JOB_SIZE", []string{"FLUX_JOB_ID"}},
	{"PMIX_RANK", "PMIX_SIZE", []string{"PMIX_NAMESPACE", "JSM_NAMESPACE_ID"}},
	{"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", []string{"JSM_NAMESPACE_ID"}},
	{"PMI_RANK", "PMI_SIZE", []string{"PMI_JOBID", "HYDRA_CONTROL_FD"}},
	{"SLURM_PROCID", "SLURM_NTASKS", []string{"SLURM_JOB_ID", "SLURM_STEP_ID"}},
	{torchRank, "WORLD_SIZE", []string{"TORCHELASTIC_RUN_ID", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT"}},
}

// torchRank is set by torchrun and by scripts that do without it. Neither the
// run's name nor the port need differ when it is started again.
const torchRank = "RANK"

// Identify reads an environment, as "NAME=value" strings. It returns false if
// no launcher has named a rank.
func Identify(environ []string) (Identity, bool) {
	env := make(map[string]string, len(environ))
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok {
			env[name] = value
		}
	}
	for _, l := range launchers {
		rank, err := strconv.Atoi(env[l.rank])
		if err != nil || rank < 0 {
			continue
		}
		world, err := strconv.Atoi(env[l.world])
		if err != nil || world <= rank {
			world = 0
		}
		return Identity{Rank: scr.Rank(rank), World: world, App: appName(l, env), restarts: l.rank == torchRank}, true
	}
	return Identity{Rank: NoRank}, false
}

func appName(l launcher, env map[string]string) string {
	parts := []string{l.rank}
	for _, name := range l.app {
		if v := env[name]; v != "" {
			parts = append(parts, v)
		}
	}
	if len(parts) == 1 {
		return ""
	}
	return strings.Join(parts, "/")
}
