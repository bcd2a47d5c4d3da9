package config

import (
	"fmt"
	"time"

	"github.com/scrfs/scrfs/scr"
)

// Config is what a job runs with. Each field stands for the parameter that
// docs/configuration.md lists; sizes are in bytes.
type Config struct {
	Enable bool
	Debug  int

	Prefix, ControlBase, CacheBase string // ControlBase and CacheBase are absolute
	CacheSize                      int
	CacheBypass, CachePurge        bool

	// Checkpoints is never empty and has an enabled descriptor of interval 1
	// that is not for output. They are in the order of their lines; without
	// SCR_COPY_TYPE=FILE there is one, made of the SCR_ parameters.
	Checkpoints []Checkpoint
	// Stores holds every store a descriptor names, SCR_CACHE_BASE among them.
	Stores []Store
	// Groups is host → name of a failure group → its value for that host.
	Groups map[string]map[string]string
	// ControlDirs and CacheDirs are what a node must have to be usable.
	ControlDirs, CacheDirs []NodeDir
	// Rules are in order: command line, user file, system file. The first
	// that matches a path decides.
	Rules []Rule

	EncodeBufferBytes, CopyBufferBytes int64

	FlushEvery          int   // flush each n-th checkpoint; 0 none
	FlushBytesPerSecond int64 // per node; 0 no limit

	User, JobID, JobName, Cluster string

	ExcludeNodes string // host lists
	NodeList     string
	UserFile     string

	Quiet time.Duration // a burst ends after this long without a write
	// PassthroughFreeBytes must be free in the cache for the kernel to write a
	// file of unknown size; CacheReserveBytes are kept free in it.
	PassthroughFreeBytes, CacheReserveBytes int64

	Listen      string        // host:port or "" for a free port
	PeerTimeout time.Duration // a peer is down after this long
	Transport   Transport

	copyType string // SINGLE ... RS, or FILE
	setSize  int
	group    string
	sources  map[string]Setting
}

// Transport is how mounts speak to each other.
type Transport string

// The transports. Plain is authenticated but not encrypted.
const (
	TLS   Transport = "tls"
	Plain Transport = "plain"
)

// Checkpoint is a redundancy descriptor as configured: a CKPT line.
type Checkpoint struct {
	ID          int
	Enabled     bool
	Interval    int // used for checkpoints whose number it divides; the largest wins
	Store       string
	Type        scr.Scheme
	Group       string
	SetSize     int // least members of a set
	SetFailures int // RS: losses a set survives
	Output      bool
	Bypass      bool
	Source      Source
}

// Store is a place for caches: a STORE line, or SCR_CACHE_BASE.
type Store struct {
	Path    string // absolute
	Group   string // processes of one such group share it
	Count   int    // datasets kept there
	Mkdir   bool
	Enabled bool
	Source  Source
}

// NodeDir is a directory a node must have: a CNTLDIR or CACHEDIR line.
type NodeDir struct {
	Path   string
	Bytes  int64 // least capacity; 0 not checked
	Source Source
}

// Rule is a routing rule. The pattern is known to be well formed.
type Rule struct {
	Verb, Pattern string
	Source        Source
}

// Layer is where a value was found. The lower the number, the stronger.
type Layer int

// The layers, strongest first.
const (
	Flag Layer = iota
	Environment
	UserFile
	SystemFile
	Default
)

// Source is the place of a value. File and Line are set for files only.
type Source struct {
	Layer Layer
	File  string
	Line  int
}

// String is the place as messages name it.
func (s Source) String() string {
	switch s.Layer {
	case Flag:
		return "command line"
	case Environment:
		return "environment"
	case UserFile, SystemFile:
		return fmt.Sprintf("%s:%d", s.File, s.Line)
	case Default:
		return "default"
	}
	return fmt.Sprintf("Layer(%d)", int(s.Layer))
}

// Setting is a parameter with the value in force, as text, and its place.
type Setting struct {
	Param
	Value  string
	Source Source
}

// Source returns where the value of a parameter came from; ok is false for a
// name that Known does not have.
func (c *Config) Source(name string) (s Source, ok bool) {
	setting, ok := c.sources[name]
	return setting.Source, ok
}

// Settings returns every parameter with its value and place, in the order of
// Params, for `--explain`. Secrets are not shown.
func (c *Config) Settings() []Setting {
	all := make([]Setting, 0, len(params))
	for _, p := range params {
		s := c.sources[p.Name]
		if p.secret && s.Value != "" {
			s.Value = hidden
		}
		all = append(all, s)
	}
	return all
}

// Warning is something accepted that has no effect, or not the one it seems
// to have.
type Warning struct {
	Source Source
	Text   string
}

// String is the warning as a line for the user.
func (w Warning) String() string { return w.Source.String() + ": " + w.Text }
