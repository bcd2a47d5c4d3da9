package daemon

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/scrfs/scrfs/peer"
)

func TestFrozenFollowerDelaysUntilItIsDown(t *testing.T) {
	inJob(t, 3, func(t *testing.T, j *job) {
		j.agree()
		j.net.Freeze("node2")
		began := time.Now()
		if _, err := j.nodes["node1"].make("run", "a"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < downAfter/2 || took > 2*downAfter {
			t.Errorf("took %v, want about %v", took, downAfter)
		}
		began = time.Now()
		if _, err := j.nodes["node1"].make("run", "b"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("took %v with the frozen node out", took)
		}
		j.net.Thaw("node2")
		j.agree() // it is asked to join again without doing anything
		if !j.nodes["node2"].sees("run", "b") {
			t.Error("the node that came back does not see what was made meanwhile")
		}
		if _, err := j.nodes["node2"].make("run", "c"); err != nil {
			t.Fatal(err)
		}
		j.agree()
	})
}

func TestFrozenLeaderIsReplacedAndComesBack(t *testing.T) {
	inJob(t, 3, func(t *testing.T, j *job) {
		stop := j.load("node1", "node2")
		time.Sleep(time.Second + 300*time.Microsecond)
		j.net.Freeze("node0")
		// What it accepts now is not acknowledged before it knows better.
		late := make(chan error, 1)
		lead := j.nodes["node0"]
		go func() {
			_, err := lead.make("run", "late")
			late <- err
		}()
		j.until("a successor", func() bool { return slices.Contains(j.leaders(), "node1") })
		time.Sleep(time.Second)
		j.net.Thaw("node0")
		if err := <-late; err != nil {
			t.Errorf("the change of the frozen leader: %v", err)
		}
		names := stop()
		j.agree()
		for _, m := range j.nodes {
			for _, name := range append(names, "late") {
				if !m.sees("run", name) {
					t.Errorf("%s is not seen on %s", name, m.name)
				}
			}
		}
	})
}

func TestCutOffNodeNeverLeadsAndComesBack(t *testing.T) {
	inJob(t, 4, func(t *testing.T, j *job) {
		lonely := j.nodes["node3"]
		for _, other := range []peer.NodeID{"node0", "node1", "node2"} {
			j.net.Cut("node3", other)
		}
		stuck := make(chan error, 1)
		go func() {
			_, err := lonely.make("run", "stuck")
			stuck <- err
		}()
		stop := j.load("node0", "node1", "node2")
		time.Sleep(6 * downAfter)
		if lonely.group.leads() {
			t.Error("a node that reaches nobody leads")
		}
		for _, other := range []peer.NodeID{"node0", "node1", "node2"} {
			j.net.Heal("node3", other)
		}
		if err := <-stuck; err != nil {
			t.Errorf("the change of the node that was cut off: %v", err)
		}
		names := stop()
		j.agree()
		for _, name := range append(names, "stuck") {
			if !lonely.sees("run", name) {
				t.Errorf("%s is not seen on the node that came back", name)
			}
		}
	})
}

func TestLeaderCutOffFromMostGivesUp(t *testing.T) {
	inJob(t, 5, func(t *testing.T, j *job) {
		for _, other := range []peer.NodeID{"node1", "node2", "node3", "node4"} {
			j.net.Cut("node0", other)
		}
		late := make(chan error, 1)
		lead := j.nodes["node0"]
		go func() {
			_, err := lead.make("run", "late")
			late <- err
		}()
		j.until("a successor", func() bool { return slices.Equal(j.leaders(), []peer.NodeID{"node1"}) })
		if _, err := j.nodes["node4"].make("run", "other"); err != nil {
			t.Error(err)
		}
		select {
		case err := <-late:
			t.Errorf("a leader that reaches nobody answered: %v", err)
		default:
		}
		for _, other := range []peer.NodeID{"node1", "node2", "node3", "node4"} {
			j.net.Heal("node0", other)
		}
		if err := <-late; err != nil {
			t.Error(err)
		}
		j.agree()
		for _, m := range j.nodes {
			if !m.sees("run", "late") || !m.sees("run", "other") {
				t.Errorf("%s does not see all", m.name)
			}
		}
	})
}

// TestTwoNodesCutFromEachOtherHaveOneLeader: the epoch decides which.
func TestTwoNodesCutFromEachOtherHaveOneLeader(t *testing.T) {
	inJob(t, 2, func(t *testing.T, j *job) {
		j.agree()
		j.net.Cut("node0", "node1")
		time.Sleep(6 * downAfter)
		if got := j.leaders(); len(got) != 1 {
			t.Fatalf("leaders %v, want one", got)
		}
		lead := j.nodes[j.leaders()[0]]
		if _, err := lead.make("run", "a"); err != nil {
			t.Fatal(err)
		}
		j.net.Heal("node0", "node1")
		j.agree()
		for _, m := range j.nodes {
			if !m.sees("run", "a") {
				t.Errorf("%s does not see what the one that led has made", m.name)
			}
		}
	})
}

func TestCutBetweenTwoFollowersMattersNot(t *testing.T) {
	inJob(t, 4, func(t *testing.T, j *job) {
		j.net.Cut("node2", "node3")
		stop := j.load("node0", "node1", "node2", "node3")
		time.Sleep(4 * downAfter)
		names := stop()
		j.agree()
		j.allSeen(names)
	})
}

// TestCutFromTheLeaderOnly: the others reach both, and the leader stays.
func TestCutFromTheLeaderOnly(t *testing.T) {
	inJob(t, 4, func(t *testing.T, j *job) {
		j.net.Cut("node0", "node1")
		stop := j.load("node2", "node3")
		time.Sleep(4 * downAfter)
		if got := j.leaders(); len(got) != 1 {
			t.Errorf("leaders %v", got)
		}
		j.net.Heal("node0", "node1")
		names := stop()
		j.agree()
		for _, name := range names {
			if !j.nodes["node1"].sees("run", name) {
				t.Errorf("%s is not seen", name)
			}
		}
	})
}

// TestOvertakenLeaderAcknowledgesNothing: the others have promised a later
// epoch, and the leader has heard nothing of it.
func TestOvertakenLeaderAcknowledgesNothing(t *testing.T) {
	inJob(t, 3, func(t *testing.T, j *job) {
		j.agree()
		req, err := encodeGob(int64(2))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []peer.NodeID{"node1", "node2"} {
			if _, err := j.nodes[name].group.servePromise(context.Background(), "node1", req); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := j.nodes["node0"].make("run", "late"); err != nil {
			t.Fatal(err)
		}
		for _, m := range j.nodes {
			if !m.sees("run", "late") {
				t.Errorf("acknowledged, and not seen on %s", m.name)
			}
		}
		if epoch := j.nodes["node0"].group.epoch; epoch <= 2 {
			t.Errorf("acknowledged in epoch %d", epoch)
		}
		j.agree()
	})
}
