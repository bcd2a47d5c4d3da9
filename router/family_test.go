package router

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFamilyParts(t *testing.T) {
	tests := []struct {
		name, template string
		numbers        []int64
	}{
		{"", "", nil},
		{"latest", "latest", nil},
		{"pp.50.0.restart", "pp.#.#.restart", []int64{50, 0}},
		{"iter_0000010", "iter_#", []int64{10}},
		{"epoch=1-step=10.ckpt", "epoch=#-step=#.ckpt", []int64{1, 10}},
		{"ckpt.1/rank_0.dat", "ckpt.#/rank_#.dat", []int64{1, 0}},
		{"100", "#", []int64{100}},
		{"0.05", "#.#", []int64{0, 50_000_000}},
		{"0.5", "#.#", []int64{0, 500_000_000}},
		{"12.25", "#.#", []int64{12, 250_000_000}},
		{"0.12345678901", "#.#", []int64{0, 123_456_789}},
		{"1.2.3", "#.#.#", []int64{1, 2, 3}},
		{"99999999999999999999", "#", []int64{math.MaxInt64}},
		{"9223372036854775807x9223372036854775808", "#x#", []int64{math.MaxInt64, math.MaxInt64}},
	}
	for _, test := range tests {
		template, numbers := Family(test.name)
		if template != test.template || !slices.Equal(numbers, test.numbers) {
			t.Errorf("Family(%s) = %s, %v, want %s, %v", test.name, template, numbers, test.template, test.numbers)
		}
	}
}

func TestStepGuess(t *testing.T) {
	tests := []struct {
		name string
		step int64
		ok   bool
	}{
		{"pp.50.0.restart", 50, true},
		{"global_step10", 10, true},
		{"epoch=1-step=10.ckpt", 10, true},
		{"ckpt_2_rank1.pt", 2, true},
		{"rank1_ckpt_2.pt", 2, true},
		{"iter_0000010", 10, true},
		{"chk00010.old.5", 10, true},
		{"checkpoint-30", 30, true},
		{"dump2", 2, true},
		{"m.100.mpiio", 100, true},
		{"10", 10, true},
		{"processor3", 0, false},
		{"latest", 0, false},
	}
	for _, test := range tests {
		if step, ok := Step(test.name); step != test.step || ok != test.ok {
			t.Errorf("Step(%s) = %d, %v, want %d, %v", test.name, step, ok, test.step, test.ok)
		}
	}
}

func TestFamilyHasANumberForEveryMark(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z0-9._/=-]{0,30}`).Draw(t, "name")
		template, numbers := Family(name)
		if strings.Count(template, "#") != len(numbers) {
			t.Fatalf("%s: %s and %v", name, template, numbers)
		}
		if again, none := Family(template); again != template || len(none) != 0 {
			t.Fatalf("%s is no template: %s", template, again)
		}
	})
}
