package daemon

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/kvtree"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/peer"
	"github.com/scrfs/scrfs/scr"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// downAfter is how long a node is silent before it is down, in the tests; time
// is that of a synctest bubble.
const downAfter = 5 * time.Second

// paper is the prefix directory as the groups see it.
type paper struct {
	mu     sync.Mutex
	claims map[int64]string
	id     scr.DatasetID
	fail   error
}

func (p *paper) Claim(_ context.Context, epoch int64, node string) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail != nil || p.claims[epoch] != "" {
		return false, p.fail
	}
	p.claims[epoch] = node
	return true, nil
}

func (p *paper) Last(context.Context) (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var last int64
	for epoch := range p.claims {
		last = max(last, epoch)
	}
	return last, p.fail
}

func (p *paper) FreshID(_ context.Context, after scr.DatasetID) (scr.DatasetID, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.id = max(p.id, after) + 1
	return p.id, p.fail
}

// member is one node with its group; it keeps the effects it was asked for.
type member struct {
	name      peer.NodeID
	group     *group
	transport peer.Transport
	kept      []scr.DatasetID

	mu   sync.Mutex
	done []string // effects, in order
	acts []lifecycle.Action
}

func (m *member) apply(op catalog.Op, res catalog.Result, oldPath, newPath string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if op.Kind != catalog.OpNodeDown {
		m.done = append(m.done, strings.TrimSpace(fmt.Sprintf("%s %s %s", op.Kind, oldPath, newPath)))
	}
}

func (m *member) act(a lifecycle.Action) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.acts = append(m.acts, a)
}

func (m *member) effects() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.done...)
}

// job is a network with the nodes of one job.
type job struct {
	t     *testing.T
	net   *peer.Network
	paper *paper
	addrs []peer.Member
	nodes map[peer.NodeID]*member
}

// inJob runs a test with n nodes that have joined, in a synctest bubble.
func inJob(t *testing.T, n int, f func(t *testing.T, j *job)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		j := &job{t: t, net: peer.NewNetwork(), paper: &paper{claims: map[int64]string{}}, nodes: map[peer.NodeID]*member{}}
		for i := range n {
			name := peer.NodeID(fmt.Sprintf("node%d", i))
			j.addrs = append(j.addrs, peer.Member{Name: name, Addr: string(name) + ":1"})
		}
		defer j.stop()
		var wg sync.WaitGroup
		for _, a := range j.addrs {
			j.boot(a)
		}
		for _, m := range j.nodes {
			wg.Go(func() { j.join(m) })
		}
		wg.Wait()
		f(t, j)
	})
}

// boot makes a node and its group, which has yet to join.
func (j *job) boot(a peer.Member) *member {
	j.t.Helper()
	tr, err := j.net.New(peer.Options{
		Self: a.Name, Listen: a.Addr, Members: j.addrs, Secret: bytes.Repeat([]byte("s"), peer.SecretBytes),
		CallTimeout: 10 * time.Second, DownAfter: downAfter,
	})
	if err != nil {
		j.t.Fatal(err)
	}
	m := &member{name: a.Name, transport: tr}
	m.group = newGroup(tr, j.paper, groupOptions{
		effects: m, act: m.act, kept: func() []scr.DatasetID { return m.kept }, policy: lifecycle.Default(), log: slog.New(slog.DiscardHandler),
	})
	if err := tr.Start(); err != nil {
		j.t.Fatal(err)
	}
	j.nodes[a.Name] = m
	return m
}

func (j *job) join(m *member) {
	j.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := m.group.start(ctx); err != nil {
		j.t.Errorf("%s does not join: %v", m.name, err)
	}
}

// kill ends a node as a death of its process does.
func (j *job) kill(name peer.NodeID) {
	m := j.nodes[name]
	delete(j.nodes, name)
	m.group.mu.Lock()
	m.group.stop()
	m.group.mu.Unlock()
	j.net.Kill(name)
	m.group.close()
}

// restart boots a node again after kill and lets it join.
func (j *job) restart(name peer.NodeID) *member {
	for _, a := range j.addrs {
		if a.Name == name {
			m := j.boot(a)
			j.join(m)
			return m
		}
	}
	j.t.Fatalf("no node %s", name)
	return nil
}

func (j *job) stop() {
	for name := range j.nodes {
		j.net.Thaw(name)
	}
	for _, m := range j.nodes {
		m.group.close()
	}
	for _, m := range j.nodes {
		if err := m.transport.Close(); err != nil {
			j.t.Error(err)
		}
	}
}

// until lets time pass until a condition holds.
func (j *job) until(what string, f func() bool) {
	j.t.Helper()
	for range 6000 {
		if f() {
			return
		}
		time.Sleep(10 * time.Millisecond) // the bubble's time
	}
	for _, m := range j.nodes {
		m.group.mu.Lock()
		j.t.Logf("%s: leader %q epoch %d promised %d seq %d members %v", m.name, m.group.leader, m.group.epoch, m.group.promised, m.group.seq, m.group.members)
		m.group.mu.Unlock()
	}
	j.t.Fatalf("never: %s", what)
}

// make creates a file in the prefix directory.
func (m *member) make(dir, name string) (outcome, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return m.group.propose(ctx, &catalog.Op{Kind: catalog.OpCreate, Dir: catalog.Dir{Path: dir}, Name: name, Rank: catalog.NoRank}, nil)
}

func (m *member) sees(dir, name string) bool {
	var found bool
	m.group.view(func(t *catalog.State, _ *lifecycle.Machine) {
		found = t.Lookup(catalog.Dir{Path: dir}, name) != nil
	})
	return found
}

// leaders lists who thinks that it leads.
func (j *job) leaders() []peer.NodeID {
	var list []peer.NodeID
	for _, a := range j.addrs {
		if m := j.nodes[a.Name]; m != nil && m.group.leads() {
			list = append(list, a.Name)
		}
	}
	return list
}

// agree waits until one node leads and all are followers with the same tree,
// lives and members.
func (j *job) agree() {
	j.t.Helper()
	j.until("one leader, everybody follows, the states are equal", func() bool {
		leaders := j.leaders()
		if len(leaders) != 1 {
			return false
		}
		lead := j.nodes[leaders[0]]
		lead.group.mu.Lock()
		followers := len(lead.group.followers)
		lead.group.mu.Unlock()
		if followers != len(j.nodes)-1 {
			return false
		}
		seq, tree, lives := lead.snapshot()
		for _, m := range j.nodes {
			s, t, l := m.snapshot()
			if s != seq || !kvtree.Equal(t, tree) || l != lives {
				return false
			}
		}
		return true
	})
}

func (m *member) snapshot() (uint64, *kvtree.Tree, string) {
	m.group.mu.Lock()
	defer m.group.mu.Unlock()
	return m.group.seq, m.group.state.Snapshot(), fmt.Sprintf("%+v %v", m.group.lives.Datasets(), m.group.members)
}
