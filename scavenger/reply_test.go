package scavenger

import (
	"encoding/json"
	"errors"
	"io/fs"
	"syscall"
	"testing"

	"github.com/scrfs/scrfs/scr"
)

func TestReplyIsFoundAmongOtherLines(t *testing.T) {
	out := "Welcome to atlas\n{not json}\n{\"a\":1}\n" + `{"scr_postrun":"copy","copied":{"ranks":[3],"files":2,"bytes":9}}` + "\r\nbye\n"
	r, ok, err := ParseReply("copy", []byte(out))
	if !ok || err != nil || r.Copied == nil || r.Copied.Bytes != 9 || len(r.Copied.Ranks) != 1 {
		t.Errorf("got %+v, %v, %v", r, ok, err)
	}
	for _, out := range []string{"", "hello", "{}", `{"scr_postrun":"list"}`, `{"scr_postrun":`} {
		if r, ok, err := ParseReply("copy", []byte(out)); ok || err != nil {
			t.Errorf("%q: got %+v, %v", out, r, err)
		}
	}
}

func TestErrorsOfOtherNodesKeepTheirKind(t *testing.T) {
	for code, want := range map[int]error{3: scr.ErrNotFound, 5: scr.ErrCorrupt, 6: syscall.ENOSPC, 7: fs.ErrPermission} {
		line, err := json.Marshal(Reply{Kind: "error", Code: code, Error: "what happened"})
		if err != nil {
			t.Fatal(err)
		}
		_, ok, err := ParseReply("list", line)
		if !ok || !errors.Is(err, want) || err.Error() != "what happened" {
			t.Errorf("code %d: got %v, want %v", code, err, want)
		}
		for other, kind := range kinds {
			if other != code && errors.Is(err, kind) {
				t.Errorf("code %d is also %v", code, kind)
			}
		}
	}
}

func TestLastLines(t *testing.T) {
	for in, want := range map[string]string{"": "", "a\n": "a", "a\nb \n  c\nd\n": "b; c; d"} {
		if got := LastLines([]byte(in), 3); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzParseReply(f *testing.F) {
	f.Add([]byte(`{"scr_postrun":"list","cache":{"datasets":[{"id":5,"held":[{"rank":0,"set":{}}]}]}}`))
	f.Add([]byte(`{"scr_postrun":"error","code":6,"error":"full"}`))
	f.Add([]byte("x\n{"))
	f.Fuzz(func(t *testing.T, out []byte) {
		r, ok, err := ParseReply("list", out)
		if !ok || err != nil || r.Cache == nil {
			return
		}
		if r.Cache.Validate() != nil {
			return
		}
		// Whatever a node says, the plan is made without panic.
		Decide(Input{Caches: []NodeCache{*r.Cache}})
	})
}
