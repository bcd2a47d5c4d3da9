package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/scrfs/scrfs/catalog"
	"github.com/scrfs/scrfs/lifecycle"
	"github.com/scrfs/scrfs/peer"
)

func TestNodesJoinOneLeader(t *testing.T) {
	for n := 1; n <= 5; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			inJob(t, n, func(t *testing.T, j *job) {
				j.agree()
				if got := j.leaders(); !slices.Equal(got, []peer.NodeID{"node0"}) {
					t.Errorf("leaders %v, want the lowest node", got)
				}
			})
		})
	}
}

func TestCreateIsSeenEverywhereWhenItReturns(t *testing.T) {
	for n := 1; n <= 5; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			inJob(t, n, func(t *testing.T, j *job) {
				var wg sync.WaitGroup
				for _, m := range j.nodes {
					wg.Go(func() {
						for i := range 20 {
							name := fmt.Sprintf("%s.%d", m.name, i)
							if _, err := m.make("run", name); err != nil {
								t.Errorf("%s: %v", name, err)
							}
							for _, other := range j.nodes {
								if !other.sees("run", name) {
									t.Errorf("%s is not seen on %s", name, other.name)
								}
							}
						}
					})
				}
				wg.Wait()
				j.agree()
				for _, m := range j.nodes {
					if got := len(m.effects()); got != 20*n {
						t.Errorf("%s: %d effects, want %d", m.name, got, 20*n)
					}
				}
			})
		})
	}
}

func TestExclusiveCreateHasOneWinner(t *testing.T) {
	inJob(t, 4, func(t *testing.T, j *job) {
		for round := range 25 {
			var won atomic.Int64
			var wg sync.WaitGroup
			for _, m := range j.nodes {
				for range 3 {
					wg.Go(func() {
						_, err := m.make("", fmt.Sprint("lock", round))
						switch {
						case err == nil:
							won.Add(1)
						case !errors.Is(err, syscall.EEXIST):
							t.Errorf("%s: %v", m.name, err)
						case !m.sees("", fmt.Sprint("lock", round)):
							t.Errorf("%s: the file exists, but is not seen", m.name)
						}
					})
				}
			}
			wg.Wait()
			if won.Load() != 1 {
				t.Fatalf("round %d: %d winners", round, won.Load())
			}
		}
		j.agree()
	})
}

// load lets nodes create files until stop is called, which returns the names
// that were acknowledged. A file that exists already was made twice.
func (j *job) load(nodes ...peer.NodeID) (stop func() []string) {
	var over atomic.Bool
	var mu sync.Mutex
	var names []string
	var wg sync.WaitGroup
	for _, node := range nodes {
		m := j.nodes[node]
		for worker := range 4 {
			wg.Go(func() {
				for i := 0; !over.Load(); i++ {
					name := fmt.Sprintf("%s.%d.%d", node, worker, i)
					_, err := m.make("run", name)
					if err != nil {
						j.t.Errorf("%s: %v", name, err)
						return
					}
					mu.Lock()
					names = append(names, name)
					mu.Unlock()
					time.Sleep(7 * time.Millisecond)
				}
			})
		}
	}
	return func() []string {
		over.Store(true)
		wg.Wait()
		return names
	}
}

// allSeen checks that no acknowledged file is missing anywhere, and that each
// node did what each meant for its cache exactly once.
func (j *job) allSeen(names []string) {
	j.t.Helper()
	for _, m := range j.nodes {
		count := map[string]int{}
		for _, e := range m.effects() {
			count[e]++
		}
		for _, name := range names {
			if !m.sees("run", name) {
				j.t.Errorf("%s was acknowledged and is not seen on %s", name, m.name)
			}
			if got := count["create run/"+name]; got != 1 {
				j.t.Errorf("%s: %d effects on %s, want 1", name, got, m.name)
			}
		}
	}
}

func TestChangesGoOnWhenAFollowerIsKilled(t *testing.T) {
	inJob(t, 4, func(t *testing.T, j *job) {
		stop := j.load("node0", "node1", "node3")
		time.Sleep(time.Second)
		j.kill("node2")
		began := time.Now()
		if _, err := j.nodes["node1"].make("", "after"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 2*downAfter {
			t.Errorf("a change took %v after the loss of a node, which is down after %v", took, downAfter)
		}
		time.Sleep(time.Second)
		names := stop()
		j.agree()
		j.allSeen(names)
	})
}

func TestNothingAcknowledgedIsLostWithTheLeader(t *testing.T) {
	for n := 2; n <= 5; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			inJob(t, n, func(t *testing.T, j *job) {
				var rest []peer.NodeID
				for _, a := range j.addrs[1:] {
					rest = append(rest, a.Name)
				}
				stop := j.load(rest...)
				time.Sleep(time.Second + 300*time.Microsecond)
				j.kill("node0")
				j.until("a successor", func() bool { return len(j.leaders()) == 1 })
				time.Sleep(time.Second)
				names := stop()
				j.agree()
				j.allSeen(names)
				if got := j.leaders(); got[0] != "node1" {
					t.Errorf("leader %v, want the lowest that lives", got)
				}
				if j.nodes["node1"].group.epoch != 2 {
					t.Errorf("epoch %d, want 2", j.nodes["node1"].group.epoch)
				}
			})
		})
	}
}

func TestLeadersDieOneAfterTheOther(t *testing.T) {
	inJob(t, 5, func(t *testing.T, j *job) {
		stop := j.load("node4")
		for _, name := range []peer.NodeID{"node0", "node1", "node2", "node3"} {
			time.Sleep(300*time.Millisecond + 170*time.Microsecond)
			j.kill(name)
			j.until("a successor", func() bool { return len(j.leaders()) == 1 })
		}
		names := stop()
		j.agree()
		j.allSeen(names)
	})
}

func TestTwoNodesThatDieTogetherAreBothLost(t *testing.T) {
	inJob(t, 5, func(t *testing.T, j *job) {
		stop := j.load("node3", "node4")
		time.Sleep(time.Second)
		j.kill("node0")
		j.kill("node2")
		j.until("a successor", func() bool { return len(j.leaders()) == 1 })
		names := stop()
		j.agree()
		j.allSeen(names)
		g := j.nodes["node1"].group
		j.until("the dead are no members", func() bool {
			g.mu.Lock()
			defer g.mu.Unlock()
			return len(g.members) == 3
		})
	})
}

func TestRestartedNodeJoinsFresh(t *testing.T) {
	for _, name := range []peer.NodeID{"node0", "node2"} { // the leader; another
		for _, down := range []time.Duration{0, 3 * downAfter} { // nobody noticed; all did
			t.Run(fmt.Sprint(name, down), func(t *testing.T) {
				inJob(t, 3, func(t *testing.T, j *job) {
					out, err := j.nodes[name].make("run", "mine")
					if err != nil {
						t.Fatal(err)
					}
					if _, err := j.nodes["node1"].make("other", "theirs"); err != nil {
						t.Fatal(err)
					}
					j.kill(name)
					time.Sleep(down)
					m := j.restart(name)
					j.agree()
					if !m.sees("other", "theirs") {
						t.Error("the state of the others is lost")
					}
					m.group.view(func(s *catalog.State, _ *lifecycle.Machine) {
						if n := s.Inode(out.Ino); n != nil && n.Written() {
							t.Error("what the node had open before it was restarted counts as open")
						}
					})
					if _, err := m.make("run", "again"); err != nil {
						t.Error(err)
					}
					j.agree()
				})
			})
		}
	}
}

func TestLostAnswerIsNotMadeTwice(t *testing.T) {
	inJob(t, 3, func(t *testing.T, j *job) {
		j.agree()
		for i := range 20 {
			j.net.Drop("node0", "node1", 1) // the answer, or a heartbeat
			began := time.Now()
			if _, err := j.nodes["node1"].make("run", fmt.Sprint(i)); err != nil {
				t.Fatalf("file %d: %v", i, err)
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("took %v", took)
			}
		}
		j.agree()
	})
}

func TestProposalEndsWithItsContextAndWithTheGroup(t *testing.T) {
	inJob(t, 3, func(t *testing.T, j *job) {
		j.agree()
		for _, other := range []peer.NodeID{"node0", "node1"} {
			j.net.Cut("node2", other)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 3*downAfter)
		defer cancel()
		op := &catalog.Op{Kind: catalog.OpCreate, Name: "x"}
		if _, err := j.nodes["node2"].group.propose(ctx, op, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("proposal without a leader: %v", err)
		}
		ended := make(chan error, 1)
		lonely := j.nodes["node2"]
		go func() {
			_, err := lonely.group.propose(context.Background(), &catalog.Op{Kind: catalog.OpCreate, Name: "y"}, nil)
			ended <- err
		}()
		time.Sleep(time.Second)
		j.kill("node2")
		if err := <-ended; err == nil {
			t.Error("no error from a group that was closed")
		}
	})
}

func TestPrefixDirectoryThatFailsStopsTheStart(t *testing.T) {
	inJob(t, 0, func(t *testing.T, j *job) {
		j.paper.fail = errors.New("no such luck")
		j.addrs = []peer.Member{{Name: "node0", Addr: "node0:1"}}
		m := j.boot(j.addrs[0])
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := m.group.start(ctx); !errors.Is(err, j.paper.fail) {
			t.Errorf("start: %v", err)
		}
	})
}
