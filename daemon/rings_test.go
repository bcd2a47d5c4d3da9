package daemon

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scrfs/scrfs/peer"
)

// idleStream stands for a stream that nobody reads.
type idleStream struct{ peer.Stream }

func TestLinkOfARingMeetsInEitherOrder(t *testing.T) {
	for _, first := range []string{"stream", "member"} {
		t.Run(first, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRings()
				key := ringKey{ID: 1, Set: 2, Member: 3}
				header, err := encodeGob(key)
				if err != nil {
					t.Fatal(err)
				}
				served := make(chan error, 1)
				serve := func() { served <- r.serve(context.Background(), "n0", header, idleStream{}) }
				got := make(chan io.ReadCloser, 1)
				await := func() {
					s, err := r.await(context.Background(), key)
					if err != nil {
						t.Error(err)
					}
					got <- s
				}
				steps := []func(){serve, await}
				if first == "member" {
					steps = []func(){await, serve}
				}
				for _, step := range steps {
					go step()
					synctest.Wait()
				}
				s := <-got
				select {
				case <-served:
					t.Error("the stream ended before it was closed")
				default:
				}
				for range 2 {
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				}
				if err := <-served; err != nil {
					t.Error(err)
				}
				if len(r.meet) != 0 {
					t.Errorf("%d meetings are left", len(r.meet))
				}
			})
		})
	}
}

func TestLinkOfARingDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRings()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := r.await(ctx, ringKey{ID: 1}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("member: %v", err)
		}
		header, err := encodeGob(ringKey{ID: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.serve(context.Background(), "n0", header, idleStream{}); err == nil {
			t.Error("a stream that nobody takes ended well")
		}
		if err := r.serve(context.Background(), "n0", []byte("no key"), idleStream{}); err == nil {
			t.Error("a header that is none was taken")
		}
		if len(r.meet) != 0 {
			t.Errorf("%d meetings are left", len(r.meet))
		}
	})
}
