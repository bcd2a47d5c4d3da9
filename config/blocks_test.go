package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scrfs/scrfs/scr"
)

func TestLinesWithAttachedSettings(t *testing.T) {
	c := load(t, user(`
SCR_COPY_TYPE=FILE
SCR_CACHE_SIZE=2
SCR_SET_SIZE=4
STORE=/ssd COUNT=5 group=power MKDIR=0
GROUPS=n[1-2] POWER=psu1 SWITCH=s1
GROUPS=n3 POWER=psu2
CKPT=0 TYPE=single
CKPT=1 INTERVAL=4 TYPE=XOR STORE=/ssd GROUP=POWER SET_SIZE=3
CKPT=2 INTERVAL=8 TYPE=RS SET_FAILURES=2 BYPASS=1
CKPT=3 TYPE=PARTNER OUTPUT=1 ENABLED=0
CNTLDIR=/dev/shm BYTES=100M
CACHEDIR=/ssd
`))
	line := func(n int) Source { return Source{UserFile, "my.conf", n} }
	base := Checkpoint{Enabled: true, Interval: 1, Store: "/dev/shm", Group: "NODE", SetSize: 4, SetFailures: 2}
	with := func(change func(*Checkpoint)) Checkpoint { d := base; change(&d); return d }
	want := []Checkpoint{
		with(func(d *Checkpoint) { d.Type, d.Source = scr.Single, line(8) }),
		with(func(d *Checkpoint) {
			d.ID, d.Interval, d.Store, d.Type, d.Group, d.SetSize, d.Source = 1, 4, "/ssd", scr.XOR, "POWER", 3, line(9)
		}),
		with(func(d *Checkpoint) {
			d.ID, d.Interval, d.Type, d.Bypass, d.Source = 2, 8, scr.RS, true, line(10)
		}),
		with(func(d *Checkpoint) {
			d.ID, d.Type, d.Output, d.Enabled, d.Source = 3, scr.Partner, true, false, line(11)
		}),
	}
	if diff := cmp.Diff(want, c.Checkpoints); diff != "" {
		t.Errorf("checkpoints: -want +got\n%s", diff)
	}
	stores := []Store{
		{Path: "/ssd", Group: "POWER", Count: 5, Enabled: true, Source: line(5)},
		{Path: "/dev/shm", Group: "NODE", Count: 2, Mkdir: true, Enabled: true, Source: Source{Layer: Default}},
	}
	if diff := cmp.Diff(stores, c.Stores); diff != "" {
		t.Errorf("stores: -want +got\n%s", diff)
	}
	groups := map[string]map[string]string{
		"n1": {"POWER": "psu1", "SWITCH": "s1"},
		"n2": {"POWER": "psu1", "SWITCH": "s1"},
		"n3": {"POWER": "psu2"},
	}
	if diff := cmp.Diff(groups, c.Groups); diff != "" {
		t.Errorf("groups: -want +got\n%s", diff)
	}
	if diff := cmp.Diff([]NodeDir{{"/dev/shm", 100 << 20, line(12)}}, c.ControlDirs); diff != "" {
		t.Errorf("control directories: -want +got\n%s", diff)
	}
	if diff := cmp.Diff([]NodeDir{{"/ssd", 0, line(13)}}, c.CacheDirs); diff != "" {
		t.Errorf("cache directories: -want +got\n%s", diff)
	}
}

func TestLinesOfTheUserHideThoseOfTheSystem(t *testing.T) {
	in := user("SCR_COPY_TYPE=FILE\nCKPT=5 TYPE=SINGLE")
	in.System = File{"scr.conf", strings.NewReader("CKPT=0 TYPE=XOR\nSTORE=/ssd")}
	c := load(t, in)
	if len(c.Checkpoints) != 1 || c.Checkpoints[0].ID != 5 {
		t.Errorf("checkpoints: %+v", c.Checkpoints)
	}
	if len(c.Stores) != 2 || c.Stores[0].Path != "/ssd" {
		t.Errorf("stores: %+v", c.Stores)
	}
}

func TestTheStoreOfTheCacheBaseMayHaveALine(t *testing.T) {
	c := load(t, user("STORE=/dev/shm COUNT=7"))
	if len(c.Stores) != 1 || c.Stores[0].Count != 7 {
		t.Errorf("stores: %+v", c.Stores)
	}
}

func TestAStoreThatIsNotUsedMayLieAnywhere(t *testing.T) {
	c := load(t, user("SCR_PREFIX=/p\nSTORE=/p/old ENABLED=0"))
	if len(c.Stores) != 2 || c.Stores[0].Enabled {
		t.Errorf("stores: %+v", c.Stores)
	}
}

func TestRulesKeepTheirOrderAndPlace(t *testing.T) {
	in := user("dataset ckpt.*\n\nBYPASS **/tmp/  # scratch\noutput \"a b/plt*\"")
	in.System = File{"scr.conf", strings.NewReader("commit DONE")}
	in.Rules = []string{"inplace WAVECAR"}
	want := []Rule{
		{"inplace", "WAVECAR", Source{Layer: Flag}},
		{"dataset", "ckpt.*", Source{UserFile, "my.conf", 1}},
		{"bypass", "**/tmp/", Source{UserFile, "my.conf", 3}},
		{"output", "a b/plt*", Source{UserFile, "my.conf", 4}},
		{"commit", "DONE", Source{SystemFile, "scr.conf", 1}},
	}
	if diff := cmp.Diff(want, load(t, in).Rules); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestSettingsListEveryParameter(t *testing.T) {
	in := Input{Environment: map[string]string{"SCR_FLUSH": "3"}}
	all := load(t, in).Settings()
	if len(all) != len(Params()) {
		t.Fatalf("%d settings of %d parameters", len(all), len(Params()))
	}
	for i, p := range Params() {
		if all[i].Name != p.Name {
			t.Errorf("setting %d is %s, want %s", i, all[i].Name, p.Name)
		}
		if p.Name == "SCR_FLUSH" && (all[i].Value != "3" || all[i].Source.Layer != Environment) {
			t.Errorf("SCR_FLUSH: %+v", all[i])
		}
	}
	c, _, err := Load(Input{Environment: map[string]string{"SCR_DB_PASS": "secret"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Settings() {
		if s.Value == "secret" {
			t.Errorf("%s shows its value", s.Name)
		}
	}
}
