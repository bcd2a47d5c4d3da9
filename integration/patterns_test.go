package integration

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/scrfs/scrfs/config"
	"github.com/scrfs/scrfs/router"
)

// config and router stand side by side and cannot ask each other, so each has
// its own check of a pattern. They must agree, or a rule that was accepted
// would stop the mount.
func TestConfigTakesThePatternsThatRouterCompiles(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "*", "**", "?", "[a-z]", "[", "]", "\\", "/", ".", "..", "-", "^", "1"})
	rapid.Check(t, func(t *rapid.T) {
		pattern := ""
		for _, p := range rapid.SliceOfN(part, 1, 8).Draw(t, "parts") {
			pattern += p
		}
		for _, verb := range []router.Verb{router.Dataset, router.Output, router.Bypass, router.Commit, router.Inplace} {
			_, _, taken := config.Load(config.Input{Rules: []string{string(verb) + " " + pattern}})
			_, compiled := router.Compile([]router.Rule{{Verb: verb, Pattern: pattern, Origin: "test"}})
			if (taken == nil) != (compiled == nil) {
				t.Fatalf("%s %s: config says %v, router says %v", verb, pattern, taken, compiled)
			}
		}
	})
}
