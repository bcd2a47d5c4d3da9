package xor_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scrfs/scrfs/scr"
	"github.com/scrfs/scrfs/xor"
)

func TestPartnerCopiesBringBackTheLost(t *testing.T) {
	group := []scr.Rank{0, 2, 4, 6}
	tests := []struct {
		lost []scr.Rank
		want []xor.Copy
	}{
		{nil, nil},
		{[]scr.Rank{2}, []xor.Copy{{Owner: 2, From: 4, To: 2}, {Owner: 0, From: 0, To: 2}}},
		{[]scr.Rank{6}, []xor.Copy{{Owner: 6, From: 0, To: 6}, {Owner: 4, From: 4, To: 6}}},
		// every other one: all files first, then the copies
		{[]scr.Rank{4, 0}, []xor.Copy{{Owner: 0, From: 2, To: 0}, {Owner: 4, From: 6, To: 4},
			{Owner: 6, From: 6, To: 0}, {Owner: 2, From: 2, To: 4}}},
	}
	for _, test := range tests {
		got, err := xor.PlanPartner(group, test.lost)
		if err != nil {
			t.Errorf("lost %v: %v", test.lost, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("lost %v (-want +got):\n%s", test.lost, diff)
		}
	}
}

func TestPartnerLostWithItsCopy(t *testing.T) {
	group := []scr.Rank{0, 2, 4, 6}
	for _, test := range []struct {
		lost []scr.Rank
		want string
	}{
		{[]scr.Rank{2, 4}, "copies: 2:"},
		{[]scr.Rank{6, 0}, "copies: 6:"},
		{[]scr.Rank{0, 2, 4, 6}, "copies: 0,2,4,6:"},
	} {
		plan, err := xor.PlanPartner(group, test.lost)
		if plan != nil || !errors.Is(err, scr.ErrUnrecoverable) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("lost %v: plan %v, error %v", test.lost, plan, err)
		}
	}
	if _, err := xor.PlanPartner(group, []scr.Rank{3}); !errors.Is(err, scr.ErrInvalid) {
		t.Errorf("a stranger: %v", err)
	}
	if _, err := xor.PlanPartner([]scr.Rank{3}, nil); !errors.Is(err, scr.ErrInvalid) {
		t.Errorf("a set of one: %v", err)
	}
}
