package config

import (
	"math"
	"time"
)

// Reasons that several parameters share.
const (
	whyAlwaysChecked = "checksums are always taken and always compared"
	whyNeverDeletes  = "scrfs deletes no published dataset; use scrfs index --remove or rm"
	whyNoAPI         = "programs do not ask scrfs when to write a checkpoint"
	whyOneLog        = "the daemon writes one log with levels; see SCR_DEBUG"
	whyNoDB          = "there is no connection to a data base"
	whyOwnFiles      = "each node copies its own files at once; see SCR_FLUSH_ASYNC_BW to limit it"
	whyCannotExit    = "scrfs cannot make a program exit"
	whyReadInPlace   = "a restarted program reads each file from wherever it lies"
	whyNoRun         = "scrfs does not start programs so far; the batch script does"
	whyNoHalt        = "scrfs does not halt programs so far; the batch script sees to the end of the allocation"
	whyNoWatchdog    = "scrfs does not watch the progress of programs"
	whyNoInterposer  = "the interposer was never part of SCR's build; write a rule line, dataset PATTERN"
	whyOwnNames      = "files are published under their own names"
)

const (
	anyCount = math.MaxInt32
	anySize  = math.MaxInt64
	kib      = 1 << 10
	gib      = 1 << 30
)

var params = []Param{
	{Name: "SCR_ENABLE", Default: "1", form: form{kind: onOff}, Meaning: "0 mounts nothing: the program works on the prefix directory itself", field: func(c *Config) any { return &c.Enable }},
	{Name: "SCR_DEBUG", Default: "0", form: counts(0, 100), Meaning: "messages: 0 state changes, 1 more, 2 and above all", field: func(c *Config) any { return &c.Debug }},
	{Name: "SCR_PREFIX", Default: "", Meaning: "prefix directory; by default the working directory", field: func(c *Config) any { return &c.Prefix }},
	{Name: "SCR_CNTL_BASE", Default: "/dev/shm", form: form{kind: directory}, where: notUserFile, Meaning: "base of the control directory; not taken from the user file", field: func(c *Config) any { return &c.ControlBase }},
	{Name: "SCR_CACHE_BASE", Default: "/dev/shm", form: form{kind: directory}, Meaning: "base of the cache directory", field: func(c *Config) any { return &c.CacheBase }},
	{Name: "SCR_CACHE_SIZE", Default: "1", form: counts(1, anyCount), Meaning: "datasets kept in the cache", field: func(c *Config) any { return &c.CacheSize }},
	{Name: "SCR_CACHE_BYPASS", Default: "0", form: form{kind: onOff}, Meaning: "1 sends every file straight to the prefix directory; SCR 3 has 1 by default", field: func(c *Config) any { return &c.CacheBypass }},
	{Name: "SCR_CACHE_PURGE", Default: "0", form: form{kind: onOff}, Meaning: "1 empties the cache at mount", field: func(c *Config) any { return &c.CachePurge }},
	{Name: "SCR_COPY_TYPE", Default: "XOR", form: oneOf("SINGLE", "LOCAL", "PARTNER", "XOR", "RS", "FILE"), Meaning: "redundancy scheme; LOCAL is SINGLE; FILE takes the CKPT lines", field: func(c *Config) any { return &c.copyType }},
	{Name: "SCR_SET_SIZE", Default: "8", form: counts(1, anyCount), Meaning: "least members of a redundancy set", field: func(c *Config) any { return &c.setSize }},
	{Name: "SCR_SET_FAILURES", NoEffect: "only RS has it, and mounts protect with XOR or SINGLE so far", form: counts(1, anyCount), Meaning: "losses a set survives, for RS"},
	{Name: "SCR_GROUP", Default: "NODE", form: form{kind: upper}, Meaning: "failure group: NODE, or a name of the GROUPS lines", field: func(c *Config) any { return &c.group }},
	{Name: "SCR_HOP_DISTANCE", NoEffect: "the partner is the neighbour in the set, as in SCR since 2014", form: counts(0, anyCount), Meaning: "distance to the partner"},
	{Name: "SCR_MPI_BUF_SIZE", Default: "1M", form: sizes(4*kib, gib), Meaning: "buffer of encode and rebuild", field: func(c *Config) any { return &c.EncodeBufferBytes }},
	{Name: "SCR_FILE_BUF_SIZE", Default: "1M", form: sizes(4*kib, gib), Meaning: "buffer of copies; SCR 3 has 32M", field: func(c *Config) any { return &c.CopyBufferBytes }},
	{Name: "SCR_DISTRIBUTE", NoEffect: "lost files are rebuilt at once, not at restart", form: form{kind: onOff}, Meaning: "rebuild lost files in the cache at restart"},
	{Name: "SCR_FETCH", NoEffect: whyReadInPlace, form: form{kind: onOff}, Meaning: "fetch the newest checkpoint at restart"},
	{Name: "SCR_FETCH_WIDTH", NoEffect: whyOwnFiles, form: counts(1, anyCount), Meaning: "processes that fetch at a time"},
	{Name: "SCR_FLUSH_WIDTH", NoEffect: whyOwnFiles, form: counts(1, anyCount), Meaning: "processes that flush at a time"},
	{Name: "SCR_FETCH_BYPASS", NoEffect: whyReadInPlace, form: form{kind: onOff}, Meaning: "1 reads in place instead of fetching"},
	{Name: "SCR_CURRENT", NoEffect: "the program chooses what it restarts from; scrfs index --current sets the index", Meaning: "name of the checkpoint to fetch; by default the newest"},
	{Name: "SCR_FLUSH", Default: "10", form: counts(0, anyCount), Meaning: "flush every n-th checkpoint; 0 never", field: func(c *Config) any { return &c.FlushEvery }},
	{Name: "SCR_FLUSH_TYPE", NoEffect: "the daemon does the copying", form: oneOf("SYNC", "PTHREAD", "BBAPI", "DATAWARP", "ASYNC"), Meaning: "how the transfer library copies"},
	{Name: "SCR_FLUSH_ASYNC", NoEffect: "flush is always in the background", form: form{kind: onOff}, Meaning: "flush in the background"},
	{Name: "SCR_FLUSH_ASYNC_BW", Default: "200M", form: sizes(0, anySize), Meaning: "bytes per second a node flushes at most; 0 no limit", field: func(c *Config) any { return &c.FlushBytesPerSecond }},
	{Name: "SCR_FLUSH_ASYNC_PERCENT", NoEffect: "copies are limited by their rate, see SCR_FLUSH_ASYNC_BW", form: form{kind: percent}, Meaning: "share of one processor that flush uses at most; 0 no limit"},
	{Name: "SCR_FLUSH_ASYNC_USLEEP", NoEffect: "the daemon is told when a copy ends and polls nothing", form: counts(0, anyCount), Meaning: "poll interval of a flush"},
	{Name: "SCR_FLUSH_POSTSTAGE", NoEffect: "scr-postrun finishes what the job left", form: form{kind: onOff}, Meaning: "finish transfers after the job"},
	{Name: "SCR_FLUSH_ON_RESTART", NoEffect: "what was rebuilt is always flushed", form: form{kind: onOff}, Meaning: "flush what was rebuilt"},
	{Name: "SCR_GLOBAL_RESTART", NoEffect: whyReadInPlace, form: form{kind: onOff}, Meaning: "flush, then restart from the prefix directory"},
	{Name: "SCR_PREFIX_SIZE", NoEffect: whyNeverDeletes, form: counts(0, anyCount), Meaning: "checkpoints kept on the file system"},
	{Name: "SCR_PREFIX_PURGE", NoEffect: whyNeverDeletes, form: form{kind: onOff}, Meaning: "delete all datasets at start"},
	{Name: "SCR_DROP_AFTER_CURRENT", NoEffect: whyNeverDeletes, form: form{kind: onOff}, Meaning: "forget datasets newer than the one loaded"},
	{Name: "SCR_PRESERVE_DIRECTORIES", NoEffect: "the program's directories are always kept", form: form{kind: onOff}, Meaning: "keep the program's directories"},
	{Name: "SCR_USE_CONTAINERS", NoEffect: whyOwnNames, form: form{kind: onOff}, Meaning: "pack files into containers"},
	{Name: "SCR_CONTAINER_SIZE", NoEffect: whyOwnNames, form: sizes(1, anySize), Meaning: "size of a container"},
	{Name: "SCR_CRC_ON_COPY", NoEffect: whyAlwaysChecked, form: form{kind: onOff}, Meaning: "checksum while copying to a partner"},
	{Name: "SCR_CRC_ON_FLUSH", NoEffect: whyAlwaysChecked, form: form{kind: onOff}, Meaning: "checksum while flushing"},
	{Name: "SCR_CRC_ON_DELETE", NoEffect: whyAlwaysChecked, form: form{kind: onOff}, Meaning: "checksum before deleting"},
	{Name: "SCR_COPY_METADATA", NoEffect: "mode, owner and times are always kept", form: form{kind: onOff}, Meaning: "copy mode and times"},
	{Name: "SCR_AXL_MKDIR", NoEffect: "the transfer library is not used", form: form{kind: onOff}, Meaning: "transfer library makes directories"},
	{Name: "SCR_CHECKPOINT_INTERVAL", NoEffect: whyNoAPI, form: counts(0, anyCount), Meaning: "SCR_Need_checkpoint says yes each n-th time"},
	{Name: "SCR_CHECKPOINT_SECONDS", NoEffect: whyNoAPI, form: counts(0, anyCount), Meaning: "SCR_Need_checkpoint says yes after so long"},
	{Name: "SCR_CHECKPOINT_OVERHEAD", NoEffect: whyNoAPI, form: form{kind: percent}, Meaning: "SCR_Need_checkpoint allows that share of time"},
	{Name: "SCR_HALT_SECONDS", NoEffect: whyNoHalt, form: form{kind: seconds, max: anyCount}, Meaning: "stop so many seconds before the end of the allocation; 0 never"},
	{Name: "SCR_HALT_ENABLED", NoEffect: whyCannotExit, form: form{kind: onOff}, Meaning: "call exit when halted (1.2)"},
	{Name: "SCR_HALT_EXIT", NoEffect: whyCannotExit, form: form{kind: onOff}, Meaning: "call exit when halted (3)"},
	{Name: "SCR_USER_NAME", Default: "", Meaning: "name of the user; by default of the system", field: func(c *Config) any { return &c.User }},
	{Name: "SCR_JOB_ID", Default: "", Meaning: "id of the job; by default of the resource manager", field: func(c *Config) any { return &c.JobID }},
	{Name: "SCR_JOB_NAME", Default: "", Meaning: "name of the job; by default of the resource manager", field: func(c *Config) any { return &c.JobName }},
	{Name: "SCR_CLUSTER_NAME", Default: "", Meaning: "name of the machine; by default of the resource manager", field: func(c *Config) any { return &c.Cluster }},
	{Name: "SCR_END_TIME", NoEffect: whyNoHalt, form: counts(0, math.MaxInt64), Meaning: "end of the allocation in seconds since 1970; by default of the resource manager"},
	{Name: "SCR_LOG_ENABLE", NoEffect: whyOneLog, form: form{kind: onOff}, Meaning: "logging"},
	{Name: "SCR_LOG_TXT_ENABLE", NoEffect: whyOneLog, form: form{kind: onOff}, Meaning: "log to a text file"},
	{Name: "SCR_LOG_SYSLOG_ENABLE", NoEffect: whyOneLog, form: form{kind: onOff}, Meaning: "log to syslog"},
	{Name: "SCR_DB_ENABLE", NoEffect: whyNoDB, form: form{kind: onOff}, Meaning: "log to MySQL (1.2)"},
	{Name: "SCR_DB_DEBUG", NoEffect: whyNoDB, form: counts(0, anyCount), Meaning: "messages about MySQL (1.2)"},
	{Name: "SCR_DB_HOST", NoEffect: whyNoDB, Meaning: "host of MySQL (1.2)"},
	{Name: "SCR_DB_USER", NoEffect: whyNoDB, Meaning: "user of MySQL (1.2)"},
	{Name: "SCR_DB_PASS", NoEffect: whyNoDB, secret: true, Meaning: "password of MySQL (1.2)"},
	{Name: "SCR_DB_NAME", NoEffect: whyNoDB, Meaning: "data base of MySQL (1.2)"},
	{Name: "SCR_LOG_DB_ENABLE", NoEffect: whyNoDB, form: form{kind: onOff}, Meaning: "log to MySQL (3)"},
	{Name: "SCR_LOG_DB_DEBUG", NoEffect: whyNoDB, form: counts(0, anyCount), Meaning: "messages about MySQL (3)"},
	{Name: "SCR_LOG_DB_HOST", NoEffect: whyNoDB, Meaning: "host of MySQL (3)"},
	{Name: "SCR_LOG_DB_USER", NoEffect: whyNoDB, Meaning: "user of MySQL (3)"},
	{Name: "SCR_LOG_DB_PASS", NoEffect: whyNoDB, secret: true, Meaning: "password of MySQL (3)"},
	{Name: "SCR_LOG_DB_NAME", NoEffect: whyNoDB, Meaning: "data base of MySQL (3)"},
	{Name: "SCR_RUNS", NoEffect: whyNoRun, form: counts(-1, anyCount), Meaning: "times scrfs run starts the program; -1 without end"},
	{Name: "SCR_MIN_NODES", NoEffect: whyNoRun, form: counts(0, anyCount), Meaning: "least nodes scrfs run needs; 0 as many as the job began with"},
	{Name: "SCR_EXCLUDE_NODES", Default: "", Meaning: "host list of nodes not to use", field: func(c *Config) any { return &c.ExcludeNodes }},
	{Name: "SCR_NODELIST", Default: "", Meaning: "host list of the job; by default of the resource manager", field: func(c *Config) any { return &c.NodeList }},
	{Name: "SCR_WATCHDOG", NoEffect: whyNoWatchdog, form: form{kind: onOff}, Meaning: "kill a program that hangs"},
	{Name: "SCR_WATCHDOG_TIMEOUT", NoEffect: whyNoWatchdog, form: counts(0, anyCount), Meaning: "seconds without a checkpoint that mean hanging"},
	{Name: "SCR_WATCHDOG_TIMEOUT_PFS", NoEffect: whyNoWatchdog, form: counts(0, anyCount), Meaning: "the same while writing to the file system"},
	{Name: "SCR_TRANSFER_SECS", NoEffect: "the daemon is told of work and polls nothing", form: counts(0, anyCount), Meaning: "seconds scr_transfer sleeps"},
	{Name: "SCR_CONF_FILE", Default: "", where: notFiles, Meaning: "user file; by default .scrconf in the prefix directory", field: func(c *Config) any { return &c.UserFile }},
	{Name: "SCR_CHECKPOINT_PATTERN", NoEffect: whyNoInterposer, Meaning: "names of checkpoint files"},
	{Name: "SCR_CHECKPOINT_PATTERN_TOKEN", NoEffect: whyNoInterposer, Meaning: "part of the name that is the step"},
	{Name: "SCR_CHECKPOINT_DIR_PATTERN", NoEffect: whyNoInterposer, Meaning: "names of checkpoint directories"},

	{Name: "SCRFS_QUIET", Default: "2s", form: within(10*time.Millisecond, time.Hour), Meaning: "a dataset ends after this long without a write; the same as a line quiet TIME", field: func(c *Config) any { return &c.Quiet }},
	{Name: "SCRFS_PASSTHROUGH_FREE", Default: "8G", form: sizes(0, anySize), Meaning: "a file whose size cannot be foreseen is written by the kernel only while more than this, and more than half of the cache, is free; else by the daemon, which can move it to the prefix directory", field: func(c *Config) any { return &c.PassthroughFreeBytes }},
	{Name: "SCRFS_CACHE_RESERVE", Default: "256M", form: sizes(0, anySize), Meaning: "kept free in the cache for state and redundancy files, at most a sixteenth of the cache", field: func(c *Config) any { return &c.CacheReserveBytes }},
	{Name: "SCRFS_LISTEN", Default: "", Meaning: "address and port for the other mounts, host:port; by default a free port", field: func(c *Config) any { return &c.Listen }},
	{Name: "SCRFS_PEER_TIMEOUT", Default: "10s", form: within(100*time.Millisecond, 10*time.Minute), Meaning: "a peer is down when its calls fail for so long", field: func(c *Config) any { return &c.PeerTimeout }},
	{Name: "SCRFS_TRANSPORT", Default: "tls", form: oneOf("TLS", "PLAIN"), Meaning: "tls, or plain: authenticated but not encrypted, for trusted networks", field: func(c *Config) any { return &c.Transport }},
}
