package router

import (
	"math"
	"strings"
)

// Family cuts a name into its template, with every run of digits replaced by
// '#', and the numbers that stood there, in order: pp.50.0.restart is
// pp.#.#.restart and 50, 0. Names of one template whose numbers move from
// dataset to dataset are one family; which number is the step shows only when
// several are seen.
//
// A name that is one decimal number, as OpenFOAM's times, keeps its order:
// the digits after the point are counted in units of 1e-9, so 0.05 is #.# and
// 0, 50000000 and comes before 0.5. A number too large for int64 is the
// largest int64. A name may be a path; slashes are kept.
func Family(name string) (template string, numbers []int64) {
	var b strings.Builder
	b.Grow(len(name))
	for i := 0; i < len(name); {
		if !isDigit(name[i]) {
			b.WriteByte(name[i])
			i++
			continue
		}
		end := digitsEnd(name, i)
		numbers = append(numbers, number(name[i:end]))
		b.WriteByte('#')
		i = end
	}
	if whole, fraction, ok := strings.Cut(name, "."); ok && allDigits(whole) && allDigits(fraction) {
		numbers[1] = billionths(fraction)
	}
	return b.String(), numbers
}

// Step returns the number in a name that is most likely its step: the one
// after a step word (global_step, iter), else after an epoch or checkpoint
// word, else the first that no rank word precedes. ok is false if the name
// has none. It is for people to read and for a first guess; Family over
// several names knows better.
func Step(name string) (step int64, ok bool) {
	best := 0
	words := tokens(name)
	for i, w := range words {
		if !w.isNumber {
			continue
		}
		weight := 1
		if i > 0 {
			weight = stepWeight(words[i-1].text)
		}
		if weight > best {
			best, step, ok = weight, number(w.text), true
		}
	}
	return step, ok
}

func stepWeight(before string) int {
	switch {
	case rankWords[before]:
		return 0
	case before == "step" || before == "iter" || before == "iteration" || before == "timestep" || before == "globalstep":
		return 4
	case strongWords[before]:
		return 3
	case weakWords[before]:
		return 2
	}
	return 1
}

// token is a run of letters, in lower case, or of digits.
type token struct {
	text     string
	isNumber bool
}

// tokens cuts a name at everything that is no letter or digit, where letters
// meet digits, and where lower case meets upper case.
func tokens(name string) []token {
	var out []token
	for i := 0; i < len(name); {
		end := i + 1
		switch {
		case isDigit(name[i]):
			end = digitsEnd(name, i)
			out = append(out, token{name[i:end], true})
		case isLetter(name[i]):
			for end < len(name) && isLetter(name[end]) && (!isLower(name[end-1]) || isLower(name[end])) {
				end++
			}
			out = append(out, token{strings.ToLower(name[i:end]), false})
		}
		i = end
	}
	return out
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLower(c byte) bool  { return c >= 'a' && c <= 'z' }
func isLetter(c byte) bool { return isLower(c) || c >= 'A' && c <= 'Z' || c >= 0x80 }

func digitsEnd(s string, i int) int {
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i
}

func allDigits(s string) bool { return s != "" && digitsEnd(s, 0) == len(s) }

// number reads digits, at most the largest int64.
func number(digits string) int64 {
	var v int64
	for i := range len(digits) {
		d := int64(digits[i] - '0')
		if v > (math.MaxInt64-d)/10 {
			return math.MaxInt64
		}
		v = v*10 + d
	}
	return v
}

// billionths reads digits after a decimal point in units of 1e-9; what is
// smaller is cut off.
func billionths(fraction string) int64 {
	const places = 9
	if len(fraction) > places {
		fraction = fraction[:places]
	}
	return number(fraction + strings.Repeat("0", places-len(fraction)))
}
