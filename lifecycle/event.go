package lifecycle

import (
	"time"

	"github.com/scrfs/scrfs/scr"
)

// EventKind names what happened.
type EventKind string

// Events. The fields each one uses stand behind it; all use Now.
const (
	Make      EventKind = "make"      // Path IsDir Writes Output Template Numbers Node App Fresh: a claimed name in a directory of the prefix
	MakeBelow EventKind = "makebelow" // Dataset + Make's: a name below a directory of that dataset
	Open      EventKind = "open"      // Dataset Node Truncates Below Path Fresh: one of its files was opened for writing
	Close     EventKind = "close"     // Dataset Node Template: such an open has ended
	Change    EventKind = "change"    // Dataset Removes Template (of the new name, if one was renamed): rename, removal, attributes
	Hint      EventKind = "hint"      // Dataset: it seems to be complete
	Commit    EventKind = "commit"    // Dataset: the program says it is complete
	Invalid   EventKind = "invalid"   // Dataset: the program says it is not valid
	Killed    EventKind = "killed"    // Dataset App: a process that wrote it was killed; with App, one of that application's ranks, whatever it wrote
	App       EventKind = "app"       // App: a new application has opened something
	NodeDown  EventKind = "nodedown"  // Node Kept: all it had open or cached is gone, but for the datasets Kept
	Tick      EventKind = "tick"      //
	Want      EventKind = "want"      // Dataset (0: all complete ones): flush it whatever the interval says
	Short     EventKind = "short"     // a cache has no room for what comes next

	// Results of actions: Dataset Gen, Err empty if it went well.
	Sealed    EventKind = "sealed"    // + Files SizeBytes Spilled SpilledBytes Nodes Empty
	Protected EventKind = "protected" // + Scheme
	Flushed   EventKind = "flushed"
	Published EventKind = "published"
	Evicted   EventKind = "evicted"
	Rebuilt   EventKind = "rebuilt" // + Node
)

// Event is one thing that happened. Now is nanoseconds since the epoch.
type Event struct {
	Kind      EventKind
	Now       int64
	Dataset   scr.DatasetID
	Fresh     scr.DatasetID // id to use if a dataset begins now
	Gen       int
	Node      string
	App       string
	Path      string // below the prefix directory
	IsDir     bool
	Writes    bool   // the file is open for writing
	Truncates bool   // the file is emptied by the open
	Below     bool   // the file lies below a directory of its dataset
	Removes   bool   // the change is a removal
	Output    bool   // a rule says the file is output, not a checkpoint
	Template  string // base name with its numbers replaced
	Numbers   string // those numbers, in one string that can be compared
	Files     int64
	SizeBytes int64
	// Files of the dataset that the caches had no room for, and their size.
	Spilled, SpilledBytes int64

	Nodes  []string
	Empty  bool // nothing of the dataset is left
	Kept   []scr.DatasetID
	Scheme string
	Err    string
	Final  bool // with Err: trying again is of no use
}

// ActionKind names what the leader is to do.
type ActionKind string

// Actions, each about one dataset.
const (
	DoSeal    ActionKind = "seal"    // freeze it on all nodes and agree on its files
	DoProtect ActionKind = "protect" // compute redundancy
	DoFlush   ActionKind = "flush"   // copy its files to the staging directory
	DoPublish ActionKind = "publish" // make it visible on the prefix directory
	DoEvict   ActionKind = "evict"   // take it out of the caches and the catalogue
	DoRebuild ActionKind = "rebuild" // bring back what Node had
	DoDrop    ActionKind = "drop"    // it is lost: out of sight, its files go
)

// Action is what the leader is to do. It is answered by an Event with the same
// Dataset and Gen.
type Action struct {
	Kind    ActionKind
	Dataset scr.DatasetID
	Gen     int
	Node    string
}

// Config is the policy.
type Config struct {
	// Quiet is how long nothing must be written, with no file open for
	// writing, before a dataset ends. Default 2 s.
	Quiet time.Duration
	// FlushEvery flushes each n-th checkpoint; 0 flushes none but output.
	// Default 10, as SCR.
	FlushEvery int
	// CacheSize is how many checkpoints stay in the cache. Default 1, as SCR.
	CacheSize int
	// RetryAfter is the first pause before a failed action is tried again;
	// it doubles up to a minute. Default 1 s.
	RetryAfter time.Duration
}

// Default returns SCR's defaults.
func Default() Config {
	return Config{Quiet: 2 * time.Second, FlushEvery: 10, CacheSize: 1, RetryAfter: time.Second}
}
