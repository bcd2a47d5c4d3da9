package config

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scrfs/scrfs/scr"
)

func TestDefaultsAreSCRs(t *testing.T) {
	got := load(t, Input{})
	want := &Config{
		Enable: true, ControlBase: "/dev/shm", CacheBase: "/dev/shm", CacheSize: 1,
		Checkpoints: []Checkpoint{{
			Enabled: true, Interval: 1, Store: "/dev/shm", Type: scr.XOR, Group: "NODE", SetSize: 8, SetFailures: 2,
			Source: Source{Layer: Default},
		}},
		Stores:            []Store{{Path: "/dev/shm", Group: "NODE", Count: 1, Mkdir: true, Enabled: true, Source: Source{Layer: Default}}},
		EncodeBufferBytes: 1 << 20, CopyBufferBytes: 1 << 20,
		FlushEvery: 10, FlushBytesPerSecond: 200 << 20,
		Quiet: 2 * time.Second, PassthroughFreeBytes: 8 << 30, CacheReserveBytes: 256 << 20, PeerTimeout: 10 * time.Second, Transport: TLS,
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Config{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// Each layer sets the value; the strongest present one is in force, and Source
// names it.
func TestTheStrongestLayerWins(t *testing.T) {
	tests := []struct {
		layers string // f flag, e environment, u user file, s system file, d default from the machine
		want   string
		source string
	}{
		{"feusd", "flag", "command line"},
		{"eusd", "env", "environment"},
		{"usd", "user", "my.conf:2"},
		{"sd", "system", "scr.conf:1"},
		{"d", "machine", "default"},
		{"fs", "flag", "command line"},
		{"us", "user", "my.conf:2"},
		{"", "", "default"},
	}
	for _, test := range tests {
		var in Input
		for _, layer := range test.layers {
			switch layer {
			case 'f':
				in.Flags = map[string]string{"SCR_JOB_NAME": "flag"}
			case 'e':
				in.Environment = map[string]string{"SCR_JOB_NAME": "env"}
			case 'u':
				in.User = File{"my.conf", strings.NewReader("# comment\nscr_job_name=user\n")}
			case 's':
				in.System = File{"scr.conf", strings.NewReader("SCR_JOB_NAME=system")}
			case 'd':
				in.Defaults = map[string]string{"SCR_JOB_NAME": "machine"}
			}
		}
		c := load(t, in)
		source, ok := c.Source("SCR_JOB_NAME")
		if c.JobName != test.want || source.String() != test.source || !ok {
			t.Errorf("layers %q: got %q from %s, want %q from %s", test.layers, c.JobName, source, test.want, test.source)
		}
	}
	if _, ok := load(t, Input{}).Source("SCR_NONSENSE"); ok {
		t.Error("Source knows SCR_NONSENSE")
	}
}

func TestEmptyValuesOfTheEnvironmentAreNone(t *testing.T) {
	c := load(t, Input{
		Environment: map[string]string{"SCR_FLUSH": "", "HOME": "/home/u", "SCRFS_INTERNAL_FD": "3"},
		Flags:       map[string]string{"SCR_JOB_ID": ""},
	})
	if c.FlushEvery != 10 || c.JobID != "" {
		t.Errorf("got %d, %q", c.FlushEvery, c.JobID)
	}
}

func TestValuesOfEveryForm(t *testing.T) {
	c := load(t, user(`
SCR_ENABLE=no                  # a flag
SCR_DEBUG=2
SCR_PREFIX="/p/my run"
SCR_CACHE_BASE=/ssd/$USER/${JOB}x/
SCR_MPI_BUF_SIZE=128K
SCR_FLUSH_ASYNC_BW=3GB
SCR_JOB_NAME=a#b
SCR_CLUSTER_NAME=$
quiet 30s
SCRFS_PEER_TIMEOUT=5
SCRFS_TRANSPORT=plain
SCRFS_LISTEN=:7000
`))
	type values struct {
		enable                       bool
		debug                        int
		prefix, cache, name, cluster string
		buffer, bw                   int64
		quiet, peer                  time.Duration
		transport                    Transport
		listen                       string
	}
	got := values{c.Enable, c.Debug, c.Prefix, c.CacheBase, c.JobName, c.Cluster, c.EncodeBufferBytes,
		c.FlushBytesPerSecond, c.Quiet, c.PeerTimeout, c.Transport, c.Listen}
	want := values{false, 2, "/p/my run", "/ssd/joe/17x", "a#b", "$", 128 << 10, 3 << 30,
		30 * time.Second, 5 * time.Second, Plain, ":7000"}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// What stands in a user file, and what the error says of it.
func TestErrorsNameFileLineValueAndRule(t *testing.T) {
	tests := []struct{ file, want string }{
		{"SCR_FLUSCH=1", "my.conf:1: SCR_FLUSCH=1: no parameter of SCR or scrfs; did you mean SCR_FLUSH?"},
		{"COLOUR=red", "my.conf:1: COLOUR=red: no parameter of SCR or scrfs; docs/configuration.md lists all"},
		{"INTERVAL=1", "my.conf:1: INTERVAL=1: no parameter"},
		{"STOR=/x", "did you mean STORE?"},
		{"\n\nSCR_FLUSH=often", "my.conf:3: SCR_FLUSH=often: want a whole number of at least 0"},
		{"SCR_FLUSH=-1", "want a whole number of at least 0"},
		{"SCR_FLUSH=1.5", "want a whole number of at least 0"},
		{"SCR_FLUSH=99999999999999999999", "want a whole number of at least 0"},
		{"SCR_DEBUG=101", "want a whole number from 0 to 100"},
		{"SCR_ENABLE=maybe", "want 0 or 1"},
		{"SCR_MPI_BUF_SIZE=1", "want a size as 1M or 100G from 4K to 1G"},
		{"SCR_MPI_BUF_SIZE=1Q", "want a size"},
		{"SCR_FLUSH_ASYNC_BW=16E", "want a size as 1M or 100G of at least 0"},
		{"SCR_FLUSH_ASYNC_PERCENT=101", "want a number from 0 to 100"},
		{"SCR_FLUSH_ASYNC_PERCENT=NaN", "want a number from 0 to 100"},
		{"SCR_COPY_TYPE=RAID", "SCR_COPY_TYPE=RAID: want one of SINGLE, LOCAL, PARTNER, XOR, RS, FILE"},
		{"SCR_CACHE_BASE=ssd", "want an absolute path"},
		{"SCRFS_QUIET=1ms", "want a time as 500ms or 30s from 10ms to 1h0m0s"},
		{"quiet soon", "my.conf:1: quiet soon: want a time"},
		{"SCRFS_TRANSPORT=udp", "want one of TLS, PLAIN"},
		{"SCR_CRC_ON_FLUSH=maybe", "want 0 or 1"}, // checked although it has no effect
		{"SCR_FLUSH=1\nSCR_DEBUG=1\nSCR_FLUSH=2", "my.conf:3: SCR_FLUSH=2: it was set before, at my.conf:1"},
		{"SCRFS_QUIET=1s\nquiet 2s", "my.conf:2: quiet 2s: it was set before, at my.conf:1"},
		{"SCR_FLUSH=1 SCR_DEBUG=1", "only CKPT, STORE, GROUPS, CACHEDIR, CNTLDIR take further settings"},
		{"SCR_FLUSH = 1", "want KEY=value without blanks"},
		{"SCR_FLUSH", "want KEY=value without blanks"},
		{"SCR_FLUSH=", "SCR_FLUSH has no value"},
		{"SCR-FLUSH=1", `"SCR-FLUSH" is no name`},
		{"=1", `"" is no name`},
		{`SCR_JOB_NAME="a`, "a quote is not closed"},
		{"SCR_JOB_NAME=a\x01", "control character"},
		{"SCR_JOB_NAME=$NOPE", "$NOPE is not set"},
		{"SCR_JOB_NAME=${NOPE", "want ${NAME}"},
		{"SCR_CONF_FILE=x", "it names a file, so it is not taken from one"},
		{"dataset", "want one word after dataset"},
		{"dataset a b", "want one word after dataset"},
		{"bypass ckpt[", "my.conf:1: bypass ckpt[: want a pattern"},
		{"bypass a//b", "two slashes in a row"},
		{"bypass a**", "'**' must stand alone"},
		{"bypass ../x", "no place in a pattern"},
		{"bypass /", "the pattern is empty"},
		{"passthrough *.h5", "or one of the rules dataset, output"},
		{"STORE=ssd", "my.conf:1: STORE=ssd: want an absolute path"},
		{"STORE=/ssd COUNT=0", "STORE=/ssd COUNT=0: want a whole number of at least 1"},
		{"STORE=/ssd SPEED=1", "STORE=/ssd SPEED=1: want COUNT, ENABLED, FLUSH, GROUP, MKDIR, TYPE, VIEW after STORE"},
		{"STORE=/ssd COUNT=1 COUNT=2", "it stands twice on the line"},
		{"STORE=/ssd\nSTORE=/ssd/", "the store has a line already"},
		{"STORE=/ssd GROUP=POWER", "want NODE, WORLD, or a name that a GROUPS line has"},
		{"CACHEDIR=/ssd BYTES=lots", "want a size"},
		{"GROUPS=h1", "want the groups of the host after it"},
		{"GROUPS=h[1 POWER=a", "'[' is never closed"},
		{"GROUPS=a[1-10] P=1\nGROUPS=b[1-1048570] P=1", "my.conf:2: GROUPS=b[1-1048570]: more than 1048576 hosts"},
		{"GROUPS=h1 NODE=a", "NODE and WORLD are groups already"},
		{"GROUPS=h[1-2] POWER=a\nGROUPS=h2 POWER=b", "my.conf:2: GROUPS=h2 POWER=b: host h2 is in POWER=a already"},
		{"SCR_SET_SIZE=1", "my.conf:1: SCR_COPY_TYPE=XOR SET_SIZE=1: XOR needs sets of at least 2"},
		{"SCR_COPY_TYPE=RS\nSCR_SET_SIZE=2", "my.conf:2: SCR_COPY_TYPE=RS SET_FAILURES=2: want less than SET_SIZE=2"},
		{"SCR_GROUP=SWITCH", "my.conf:1: SCR_COPY_TYPE=XOR GROUP=SWITCH: want NODE, WORLD"},
		{"SCR_COPY_TYPE=FILE", "my.conf:1: SCR_COPY_TYPE=FILE: want a line CKPT=n INTERVAL=1"},
		{"SCR_COPY_TYPE=FILE\nCKPT=0 OUTPUT=1", "want a line CKPT=n INTERVAL=1"},
		{"SCR_COPY_TYPE=FILE\nCKPT=x", "my.conf:2: CKPT=x: want a whole number"},
		{"SCR_COPY_TYPE=FILE\nCKPT=0\nCKPT=0", "my.conf:3: CKPT=0: the descriptor has a line already, at my.conf:2"},
		{"SCR_COPY_TYPE=FILE\nCKPT=0 INTERVAL=0", "CKPT=0 INTERVAL=0: want a whole number of at least 1"},
		{"SCR_COPY_TYPE=FILE\nCKPT=0 TYPE=FILE", "want one of SINGLE, LOCAL, PARTNER, XOR, RS"},
		{"SCR_COPY_TYPE=FILE\nCKPT=0 STORE=/ssd", "my.conf:2: CKPT=0 STORE=/ssd: want a line STORE=/ssd, or the directory of SCR_CACHE_BASE"},
		{"SCR_COPY_TYPE=FILE\nCKPT=0 STORE=/ssd\nSTORE=/ssd ENABLED=0", "the store is not enabled, at my.conf:3"},
		{"SCR_COPY_TYPE=FILE\nCKPT=0 TYPE=PARTNER SET_SIZE=1", "CKPT=0 SET_SIZE=1: PARTNER needs sets of at least 2"},
		{"SCR_NODELIST=a[1", "SCR_NODELIST=a[1: host list"},
		{"SCRFS_LISTEN=nowhere", "want host:port"},
		{"SCR_PREFIX=/p\nSCR_CACHE_BASE=/p/cache", "want a node-local directory, not one below SCR_PREFIX=/p"},
		{"SCR_PREFIX=/dev/shm\nSCR_CACHE_BASE=/tmp", "default: SCR_CNTL_BASE=/dev/shm: want a node-local directory"},
		{"SCR_LOG_DB_PASS=se cret", "(hidden)"},
		{strings.Repeat("#", maxLineBytes+1), "token too long"},
		{strings.Repeat("#\n", maxFileBytes/2+1), "want no more than 1048576 bytes"},
	}
	for _, test := range tests {
		c, _, err := Load(user(test.file))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s\n  got  %v\n  want %s", shorten(test.file), err, test.want)
		}
		if c != nil {
			t.Errorf("%s: a Config beside the error", shorten(test.file))
		}
		if err != nil && strings.Contains(err.Error(), "cret") {
			t.Errorf("the error shows a secret: %v", err)
		}
	}
}

func TestAllErrorsAreReportedTogether(t *testing.T) {
	in := user("SCR_FLUSH=x\nNOPE=1\ndataset [")
	in.Flags = map[string]string{"SCR_DEBUG": "loud", "--cache": "1"}
	in.Environment = map[string]string{"SCRFS_FOO": "1", "SCR_BAR": "2"}
	in.Rules = []string{"dataset", "quiet x", "SCR_FLUSH=1"}
	_, _, err := Load(in)
	for _, want := range []string{
		"my.conf:1:", "my.conf:2:", "my.conf:3:", "command line: SCR_DEBUG=loud", "command line: --cache=1",
		"environment: SCRFS_FOO=1", "environment: SCR_BAR=2", "want one word after dataset", "command line: quiet x", "want a rule:",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
	var setting *SettingError
	if !errors.As(err, &setting) {
		t.Errorf("no *SettingError in %T", err)
	}
}

func TestHiddenValuesAreCheckedToo(t *testing.T) {
	in := user("SCR_FLUSH=x")
	in.Flags = map[string]string{"SCR_FLUSH": "1"}
	if _, _, err := Load(in); err == nil {
		t.Error("a malformed value behind a flag is accepted")
	}
}

func TestWarningsSayWhy(t *testing.T) {
	tests := []struct{ file, want string }{
		{"SCR_FLUSH_TYPE=PTHREAD", "my.conf:1: SCR_FLUSH_TYPE has no effect: the daemon does the copying"},
		{"SCR_CNTL_BASE=/tmp", "my.conf:1: SCR_CNTL_BASE is not taken from the user file"},
		{"CKPT=0 INTERVAL=1", "CKPT lines have no effect: SCR_COPY_TYPE is XOR; set it to FILE"},
		{"STORE=/ssd VIEW=PRIVATE", "VIEW of STORE has no effect"},
		{"SCR_COPY_TYPE=FILE\nCKPT=0\nCKPT=1 TYPE=SINGLE", "my.conf:3: CKPT=1 has no effect: CKPT=0 has the same INTERVAL=1"},
	}
	for _, test := range tests {
		c, warnings, err := Load(user(test.file))
		if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0].String(), test.want) {
			t.Errorf("%s: got %v, %v, want one warning %q", test.file, warnings, err, test.want)
			continue
		}
		if c.ControlBase != "/dev/shm" {
			t.Errorf("%s: control base %s", test.file, c.ControlBase)
		}
	}
}

func TestEveryParameterWithoutEffectWarnsOnce(t *testing.T) {
	sample := map[kind]string{onOff: "1", count: "1", bytes: "1M", percent: "1", seconds: "1", duration: "1s", directory: "/x", text: "x"}
	for _, p := range Params() {
		if p.NoEffect == "" {
			continue
		}
		value := sample[p.form.kind]
		if p.form.kind == word {
			value = p.form.choices[0]
		}
		_, warnings, err := Load(user(p.Name + "=" + value))
		if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0].Text, p.NoEffect) {
			t.Errorf("%s=%s: warnings %v, error %v", p.Name, value, warnings, err)
		}
	}
}

func TestControlBaseFromTheSystem(t *testing.T) {
	c := load(t, Input{System: File{"scr.conf", strings.NewReader("SCR_CNTL_BASE=/tmp")}})
	if c.ControlBase != "/tmp" {
		t.Errorf("got %s", c.ControlBase)
	}
}

// user is an Input with one user file and two variables to expand.
func user(file string) Input {
	return Input{
		User:        File{"my.conf", strings.NewReader(file)},
		Environment: map[string]string{"USER": "joe", "JOB": "17"},
	}
}

// load wants neither an error nor a warning.
func load(t *testing.T, in Input) *Config {
	t.Helper()
	c, warnings, err := Load(in)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("error %v, warnings %v", err, warnings)
	}
	return c
}
