package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/scrfs/scrfs/cachestore"
	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/control"
	"github.com/scrfs/scrfs/fusefs"
	"github.com/scrfs/scrfs/indexer"
	"github.com/scrfs/scrfs/internal/disk"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/peer"
	"github.com/scrfs/scrfs/prefixfs"
	"github.com/scrfs/scrfs/redset"
	"github.com/scrfs/scrfs/resource"
	"github.com/scrfs/scrfs/router"
	"github.com/scrfs/scrfs/space"
	"github.com/scrfs/scrfs/spill"
)

// Options is what one node is made from. All directories are absolute.
type Options struct {
	Prefix      string // the prefix directory
	Mountpoint  string // where programs see it; may be Prefix itself
	CacheBase   string // base the cache lies under, for the descriptors
	CacheDir    string // this job's cache directory on this node
	ControlDir  string // this job's control directory on this node
	User        string
	UID         uint32 // the user who is served, besides root
	JobID       string
	JobName     string
	Cluster     string
	Node        string
	Members     []peer.Member // the nodes of the job, this one among them
	Listen      string        // host:port
	Plain       bool          // do not encrypt between the nodes
	DownAfter   time.Duration
	StartWithin time.Duration // how long to wait for the other nodes' leader

	Policy              lifecycle.Config
	Sets                redset.Options
	Rules               *router.Table
	FlushBytesPerSecond int64             // 0: no limit
	FailureGroups       map[string]string // by node; a node that is not named is a group of its own
	PurgeCache          bool              // what an earlier run left in the cache goes, safe or not
	EncodeBytes         int               // piece of a file that is encoded at a time; 0 is xor's default
	CopyBytes           int               // piece of a file that is copied at a time; 0 is flush's default
	NoPassthrough       bool
	Space               space.Limits
	Log                 *slog.Logger
}

// Node is one node of a job. It is made by Start and ended by Stop.
type Node struct {
	opts       Options
	log        *slog.Logger
	transport  peer.Transport
	group      *group
	store      *cachestore.Store
	prefix     *prefixfs.FS
	prefixDisk disk.FS
	index      *indexer.Indexer
	router     *router.Table
	ident      *resource.Identifier
	files      *files
	removed    *removed
	writers    *writers
	apps       *apps
	held       *heldFiles
	room       *room
	spill      *spill.FS // the cache, as the store sees it
	rings      *rings
	mount      *fusefs.Mount
	served     chan struct{} // closed when the kernel has let go of the mount
	control    *control.Server
	calls      map[string]peer.CallHandler
	warned     sync.Map

	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup
}

// Start opens the cache, joins the job and mounts. When it returns nil,
// programs can use the mount.
func Start(ctx context.Context, o Options) (*Node, error) {
	n := &Node{opts: o, log: o.Log, router: o.Rules, files: newFiles(), removed: newRemoved(), apps: newApps(), held: newHeldFiles(), rings: newRings(), ident: resource.NewIdentifier("/proc")}
	n.ctx, n.stop = context.WithCancel(context.Background())
	n.writers = newWriters(n)
	if err := n.start(ctx); err != nil {
		return nil, errors.Join(err, n.Stop())
	}
	return n, nil
}

func (n *Node) start(ctx context.Context) error {
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"prefix directory", n.openPrefix},
		{"prefix directory", n.takePrefix},
		{"cache", n.openCache},
		{"network", n.connect},
		{"job", n.join},
		{"cache", n.adopt},
		{"mount", n.mountHere},
		{"control socket", func(context.Context) error { return n.serveControl() }},
	} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	n.wg.Add(2)
	go n.tick()
	go n.keepPrefix()
	return nil
}

func (n *Node) openPrefix(ctx context.Context) error {
	var err error
	if n.prefix, err = prefixfs.Open(n.opts.Prefix, prefixfs.Options{}); err != nil {
		return err
	}
	if n.prefixDisk, err = n.prefix.FS(); err != nil {
		return err
	}
	n.index = indexer.New(n.prefixDisk, n.opts.Prefix, indexer.Options{Log: n.log})
	if err := disk.MkdirAll(n.prefixDisk, stateDir, 0o777); err != nil {
		return err
	}
	done, err := n.index.RollForward(ctx)
	if len(done) > 0 {
		n.log.Info("publications of an earlier run were finished", slog.Any("datasets", done))
	}
	return err
}

func (n *Node) openCache(context.Context) error {
	cache, err := openMade(n.opts.CacheDir)
	if err != nil {
		return err
	}
	control, err := openMade(n.opts.ControlDir)
	if err != nil {
		return err
	}
	place, err := n.prefixDisk.Sub(stateDir)
	if err != nil {
		return err
	}
	if err := n.opts.Space.Validate(); err != nil {
		return err
	}
	n.spill = spill.New(cache, place, filepath.Join(n.opts.Prefix, stateDir))
	n.room = newRoom(n.opts.Space, n.spill.Usage)
	n.store, err = cachestore.Open(cachestore.Options{
		Cache: n.spill, Control: control, CacheDir: n.opts.CacheDir, ControlDir: n.opts.ControlDir,
		Prefix: n.opts.Prefix, Node: n.opts.Node,
	})
	return err
}

// openMade opens a directory of this job, made for its user alone.
func openMade(dir string) (disk.FS, error) {
	root, err := disk.Open("/")
	if err != nil {
		return nil, err
	}
	if err := disk.MkdirAll(root, dir[1:], 0o700); err != nil {
		return nil, err
	}
	return disk.Open(dir)
}

func (n *Node) connect(context.Context) error {
	secret, err := peer.LoadOrCreateSecret(n.prefixDisk)
	if err != nil {
		return err
	}
	n.transport, err = peer.New(peer.Options{
		Self: peer.NodeID(n.opts.Node), Listen: n.opts.Listen, Members: n.opts.Members, Secret: secret,
		Plain: n.opts.Plain, DownAfter: n.opts.DownAfter, Log: n.log,
	})
	if err != nil {
		return err
	}
	n.group = newGroup(n.transport, &prefixEpochs{n: n}, groupOptions{
		effects: n, act: n.act, kept: n.store.Complete, policy: n.opts.Policy, log: n.log,
	})
	n.calls = map[string]peer.CallHandler{
		callStat: n.serveStat, callRead: n.serveRead, callWrite: n.serveWrite, callTruncate: n.serveTruncate,
		callFreeze: n.serveFreeze, callProtect: n.serveProtect, callFlush: n.serveFlush, callEvict: n.serveEvict,
		callHold: n.serveHold, callRebuild: n.serveRebuild, callBlock: n.serveBlock,
		callSettle: n.serveSettle,
	}
	for name, h := range n.calls {
		n.transport.Handle(name, h)
	}
	n.transport.HandleStream(streamRing, n.rings.serve)
	return n.transport.Start()
}

func (n *Node) join(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, n.opts.StartWithin)
	defer cancel()
	return n.group.start(ctx)
}

func (n *Node) mountHere(context.Context) error {
	m, err := fusefs.New(fusefs.Options{
		Mountpoint: n.opts.Mountpoint, Prefix: n.prefix, Namespace: namespace{n}, AllowUID: n.opts.UID,
		FSName: SourcePrefix + n.opts.ControlDir, NoPassthrough: n.opts.NoPassthrough, Log: n.log,
	})
	if err != nil {
		return err
	}
	n.mount, n.served = m, make(chan struct{})
	n.removed.mount.Store(m)
	go func() {
		defer close(n.served)
		m.Serve()
	}()
	return nil
}

// tick lets time pass for the datasets, while this node leads.
func (n *Node) tick() {
	defer n.wg.Done()
	t := time.NewTicker(tickEvery)
	defer t.Stop()
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-t.C:
		}
		due := false
		n.group.view(func(_ *catalog.State, m *lifecycle.Machine) {
			due = n.group.leader == n.group.self && m.Due(n.group.now().UnixNano())
		})
		if due {
			n.group.report(lifecycle.Event{Kind: lifecycle.Tick})
		}
	}
}

// app names the application of a caller; sessions are numbered by each node.
func (n *Node) app(c fusefs.Caller) string {
	id := n.ident.Of(c.PID)
	if id.App == "" || id.Rank >= 0 {
		return id.App
	}
	return n.opts.Node + "/" + id.App
}

// Wait returns when the mount is gone.
func (n *Node) Wait() { <-n.served }

// Passthrough tells whether the kernel writes cache files by itself, and if
// not, why.
func (n *Node) Passthrough() (bool, string) { return n.mount.Passthrough() }

// Addr is where this node listens.
func (n *Node) Addr() string { return n.transport.Addr() }

// unmount ends the mount, unless somebody has done so.
func (n *Node) unmount() error {
	select {
	case <-n.served:
		return nil
	default:
	}
	err := n.mount.LazyUnmount()
	if err == nil {
		<-n.served
	}
	return err
}

// Stop unmounts, leaves the job and gives everything back. The cache stays.
// What was started but not finished is kept for the next daemon or for
// scr-postrun; the error names the first thing that did not end well.
func (n *Node) Stop() error {
	var errs []error
	if n.mount != nil {
		errs = append(errs, n.unmount())
	}
	errs = append(errs, n.leavePrefix())
	n.stop()
	n.writers.stop()
	if n.group != nil {
		n.group.close()
	}
	n.wg.Wait()
	if n.transport != nil {
		errs = append(errs, n.transport.Close())
	}
	n.removed.close()
	if n.store != nil {
		errs = append(errs, n.store.Close())
	}
	if n.control != nil {
		errs = append(errs, n.control.Close()) // last: who waits for our end asks it
	}
	if n.prefix != nil {
		errs = append(errs, n.prefix.Close())
	}
	return errors.Join(errs...)
}
