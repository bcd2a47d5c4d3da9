package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"

	urfave "github.com/urfave/cli/v2"

	"github.com/scrfs/scrfs/config"
)

// systemFile is where the administrator's settings are.
const systemFile = "/etc/scr/scr.conf"

// SettingFlags are the flags that stand for SCR's parameters. Flag beats
// environment beats user file beats system file.
func SettingFlags() []urfave.Flag {
	return []urfave.Flag{
		&urfave.StringFlag{Name: "prefix", Aliases: []string{"p"}, Usage: "prefix directory on the parallel file system (SCR_PREFIX)"},
		&urfave.StringFlag{Name: "cache-base", Usage: "base of the node-local cache (SCR_CACHE_BASE)"},
		&urfave.StringFlag{Name: "control-base", Usage: "base of the control directory (SCR_CNTL_BASE)"},
		&urfave.StringFlag{Name: "job-id", Usage: "the job (SCR_JOB_ID)"},
		&urfave.StringFlag{Name: "user", Usage: "the job's user (SCR_USER_NAME)"},
		&urfave.StringFlag{Name: "config", Usage: "user configuration file (SCR_CONF_FILE; default PREFIX/.scrconf)"},
		&urfave.StringSliceFlag{Name: "set", Usage: "any setting, as `NAME=VALUE`; may be given several times"},
		&urfave.StringSliceFlag{Name: "rule", Usage: "routing `RULE`, as 'dataset ckpt.*'; may be given several times"},
	}
}

var flagParameters = map[string]string{
	"prefix": "SCR_PREFIX", "cache-base": "SCR_CACHE_BASE", "control-base": "SCR_CNTL_BASE",
	"job-id": "SCR_JOB_ID", "user": "SCR_USER_NAME",
}

// Settings reads all layers of the configuration for a command that has
// SettingFlags. extra are values of the command's own flags, by parameter.
// Warnings go to standard error.
func Settings(c *urfave.Context, extra map[string]string) (*config.Config, error) {
	in := config.Input{Flags: map[string]string{}, Environment: environment(), Rules: c.StringSlice("rule"), Defaults: defaults()}
	for flag, name := range flagParameters {
		if c.IsSet(flag) {
			in.Flags[name] = c.String(flag)
		}
	}
	for name, value := range extra {
		in.Flags[name] = value
	}
	for _, kv := range c.StringSlice("set") {
		name, value, ok := strings.Cut(kv, "=")
		if !ok {
			return nil, Usagef("--set %s: want NAME=VALUE", kv)
		}
		in.Flags[strings.ToUpper(strings.TrimSpace(name))] = value
	}
	if p := in.Flags["SCR_PREFIX"]; p != "" {
		abs, err := filepath.Abs(p)
		if err != nil {
			return nil, err
		}
		in.Flags["SCR_PREFIX"] = abs
	}
	closeAll, err := openFiles(c, &in)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	cfg, warnings, err := config.Load(in)
	if err != nil {
		return nil, &UsageError{err}
	}
	for _, w := range warnings {
		fmt.Fprintf(c.App.ErrWriter, "%s: warning: %s\n", c.App.Name, w)
	}
	return cfg, nil
}

// openFiles finds the user's and the system's file. One that was named must be
// there.
func openFiles(c *urfave.Context, in *config.Input) (func(), error) {
	var open []*os.File
	closeAll := func() {
		for _, f := range open {
			_ = f.Close() // read only: nothing can be lost
		}
	}
	userFile, named := c.String("config"), true
	if userFile == "" {
		userFile = in.Environment["SCR_CONF_FILE"]
	}
	if userFile == "" {
		prefix := in.Flags["SCR_PREFIX"]
		if prefix == "" {
			prefix = in.Environment["SCR_PREFIX"]
		}
		userFile, named = filepath.Join(prefix, ".scrconf"), false
	}
	for _, f := range []struct {
		name  string
		named bool
		into  *config.File
	}{{userFile, named, &in.User}, {systemFile, false, &in.System}} {
		file, err := os.Open(f.name)
		switch {
		case err == nil:
			open = append(open, file)
			*f.into = config.File{Name: f.name, Reader: file}
		case !f.named && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)):
		default:
			closeAll()
			return nil, &UsageError{fmt.Errorf("configuration: %w", err)}
		}
	}
	return closeAll, nil
}

func environment() map[string]string {
	env := map[string]string{}
	for _, kv := range os.Environ() {
		if name, value, ok := strings.Cut(kv, "="); ok {
			env[name] = value
		}
	}
	return env
}

// defaults is what the machine says where no setting does.
func defaults() map[string]string {
	d := map[string]string{}
	if wd, err := os.Getwd(); err == nil {
		d["SCR_PREFIX"] = wd
	}
	if u, err := user.Current(); err == nil {
		d["SCR_USER_NAME"] = u.Username
	}
	for _, name := range []string{"SLURM_JOB_ID", "FLUX_JOB_ID", "PBS_JOBID", "LSB_JOBID"} {
		if id := os.Getenv(name); id != "" {
			d["SCR_JOB_ID"] = id
			break
		}
	}
	return d
}
