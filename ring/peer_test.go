package ring_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scrfs/scrfs/peer"
	"github.com/scrfs/scrfs/ring"
)

// hub is what a daemon does to give its members links over a Transport: it
// opens streams to the right, and hands those from the left to who waits.
type hub struct {
	peer.Transport
	mu   sync.Mutex
	seat map[string]chan arrived
}

type arrived struct {
	s    peer.Stream
	done chan struct{}
}

func newHub(t peer.Transport) *hub {
	h := &hub{Transport: t, seat: map[string]chan arrived{}}
	t.HandleStream("ring", func(ctx context.Context, _ peer.NodeID, header []byte, s peer.Stream) error {
		a := arrived{s, make(chan struct{})}
		select {
		case h.at(string(header)) <- a:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case <-a.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return h
}

func (h *hub) at(seat string) chan arrived {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seat[seat] == nil {
		h.seat[seat] = make(chan arrived)
	}
	return h.seat[seat]
}

// hubLinks is one member's place in a ring, at a hub.
type hubLinks struct {
	hub       *hub
	me, right string // seats
	node      peer.NodeID
}

func (l hubLinks) Left(ctx context.Context) (io.ReadCloser, error) {
	select {
	case a := <-l.hub.at(l.me):
		return leftLink{a.s, a.done}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l hubLinks) Right(ctx context.Context) (io.WriteCloser, error) {
	s, err := l.hub.Open(ctx, l.node, "ring", []byte(l.right))
	if err != nil {
		return nil, err
	}
	return rightLink{s}, nil
}

type leftLink struct {
	peer.Stream
	done chan struct{}
}

func (l leftLink) Close() error {
	close(l.done) // the handler returns, and the stream is closed
	return nil
}

type rightLink struct{ peer.Stream }

// Close waits until the neighbour has taken all.
func (r rightLink) Close() error {
	defer r.Stream.Close()
	if err := r.CloseWrite(); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, r.Stream)
	return err
}

type maker func(peer.Options) (peer.Transport, error)

func transports() map[string]maker {
	return map[string]maker{
		"tls":    peer.New,
		"plain":  func(o peer.Options) (peer.Transport, error) { o.Plain = true; return peer.New(o) },
		"memory": peer.NewNetwork().New,
	}
}

func name(i int) peer.NodeID { return peer.NodeID(fmt.Sprintf("node%d", i)) }

func newHubs(t testing.TB, n int, make maker) []*hub {
	t.Helper()
	var hubs []*hub
	for i := range n {
		tr, err := make(peer.Options{Self: name(i), Listen: "127.0.0.1:0", Secret: bytes.Repeat([]byte{7}, 32)})
		if err != nil {
			t.Fatal(err)
		}
		h := newHub(tr)
		if err := h.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { h.Close() })
		hubs = append(hubs, h)
	}
	for _, a := range hubs {
		for _, b := range hubs {
			a.SetMember(peer.Member{Name: b.Self(), Addr: b.Addr()})
		}
	}
	return hubs
}

// linksOf places member i of a set at hub place(i).
func linksOf(hubs []*hub, set, members int, place func(i int) int) []ring.Links {
	var links []ring.Links
	for i := range members {
		right := (i + 1) % members
		links = append(links, hubLinks{
			hub: hubs[place(i)], node: hubs[place(right)].Self(),
			me: fmt.Sprint(set, ".", i), right: fmt.Sprint(set, ".", right),
		})
	}
	return links
}

func TestSeveralSetsOverTheRealTransports(t *testing.T) {
	for kind, make := range transports() {
		t.Run(kind, func(t *testing.T) {
			const nodes = 4
			hubs := newHubs(t, nodes, make)
			var wg sync.WaitGroup
			for k, sizes := range [][][]int{
				{{700_000}, {1_200_000, 3}, {0}, {900_000}},
				{{5}, {300_000}},
				{{1}, {2}, {3}, {}, {400_000}, {6}, {7}, {8}, {9}}, // more members than nodes
				{{}, {}},
			} {
				s := newSet(t, uint64(k), sizes)
				links := linksOf(hubs, k, len(sizes), func(i int) int { return (i + k) % nodes })
				var members []ring.Member
				for i := range sizes {
					members = append(members, s.member(t, i))
				}
				wg.Go(func() {
					outs, infos, errs := runAll(context.Background(), members, links)
					for i := range members {
						if errs[i] != nil {
							t.Errorf("set %d: %v", k, errs[i])
							continue
						}
						s.check(t, i, outs[i], infos[i])
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestNodeThatDiesEndsTheRing(t *testing.T) {
	for kind, make := range transports() {
		t.Run(kind, func(t *testing.T) {
			hubs := newHubs(t, 4, make)
			s := newSet(t, 1, [][]int{{3_000_000}, {3_000_000}, {10}, {}})
			links := linksOf(hubs, 0, 4, func(i int) int { return i })
			errs := [4]error{}
			var wg sync.WaitGroup
			for i := range 4 {
				m := s.member(t, i)
				out := io.Discard
				var dying sync.WaitGroup
				if i == 2 {
					out = &after{io.Discard, 300_000, func() { dying.Go(func() { hubs[2].Close() }) }}
				}
				wg.Go(func() {
					_, errs[i] = ring.EncodeXOR(context.Background(), m, links[i], out)
					dying.Wait()
				})
			}
			wg.Wait()
			for i, err := range errs {
				if err == nil {
					t.Errorf("member %d noticed nothing", i)
				}
			}
		})
	}
}

func TestFrozenNodeEndsTheRing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := peer.NewNetwork()
		hubs := newHubs(t, 3, network.New)
		s := newSet(t, 1, [][]int{{3_000_000}, {3_000_000}, {10}})
		links := linksOf(hubs, 0, 3, func(i int) int { return i })
		errs := [3]error{}
		var wg sync.WaitGroup
		began := time.Now()
		for i := range 3 {
			m := s.member(t, i)
			out := io.Discard
			if i == 1 {
				out = &after{io.Discard, 300_000, func() { network.Freeze(name(1)) }}
			}
			wg.Go(func() { _, errs[i] = ring.EncodeXOR(context.Background(), m, links[i], out) })
		}
		wg.Wait()
		for i, err := range errs {
			if err == nil {
				t.Errorf("member %d noticed nothing", i)
			}
		}
		if !errors.Is(errs[0], peer.ErrDown) && !errors.Is(errs[2], peer.ErrDown) {
			t.Errorf("nobody says that the peer is down: %v", errs)
		}
		if took := time.Since(began); took > time.Minute { // of the bubble; DownAfter is 10 s
			t.Errorf("took %v", took)
		}
		for _, h := range hubs {
			h.Close()
		}
	})
}
