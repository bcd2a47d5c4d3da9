package router

import "strings"

// byDefault judges one name that no rule matches and no claimed directory
// holds. The order of the questions is the policy: what must never be cached,
// what was there before, what the name says, what stands beside it.
func byDefault(name string, kind Kind, ctx Context) Decision {
	switch kind {
	case Special:
		return bypass("socket, FIFO or device")
	case Dir:
		return dirByDefault(name, ctx)
	case File, Symlink:
		return fileByDefault(name, ctx)
	}
	return bypass("of no known kind")
}

func dirByDefault(name string, ctx Context) Decision {
	if neverDirs[name] {
		return bypass("directory " + name + " is never a dataset")
	}
	if v := datasetDir(name); v.yes {
		return claim(v.why)
	}
	if v := besideDatasets(name, ctx.Siblings); v.yes {
		return claim(v.why)
	}
	return bypass("directory name tells nothing of a checkpoint")
}

func fileByDefault(name string, ctx Context) Decision {
	if final := finalName(name); isMarker(final, ctx.Siblings) {
		d := claim("marker of a complete checkpoint")
		d.Commit = final == name
		return d
	}
	if ctx.Append {
		return bypass("opened to append: a stream")
	}
	if v := neverFile(name); v.yes {
		return bypass(v.why)
	}
	if v := datasetFile(name); v.yes {
		return claim(v.why)
	}
	return bypass("file name tells nothing of a checkpoint")
}

func claim(why string) Decision { return Decision{Claim: true, Rule: why} }

func isMarker(name string, siblings []string) bool {
	if loneMarkers[name] {
		return true
	}
	if !besideMarkers[name] {
		return false
	}
	for _, s := range siblings {
		if s != name && (datasetDir(s).yes || datasetFile(s).yes) {
			return true
		}
	}
	return false
}

// besideDatasets claims a directory that two siblings make likely: two of its
// own family, or two dataset directories.
func besideDatasets(name string, siblings []string) verdict {
	if v := sameFamily(name, siblings); v.yes {
		return v
	}
	if name[0] == '.' || plainDirs[strings.ToLower(name)] || hasWord(name, containerWords) || hasWord(name, rankWords) {
		return verdict{}
	}
	two := atLeastTwo(siblings, func(s string) bool { return s != name && datasetDir(s).yes })
	return verdict{two, "directory beside two of datasets"}
}

// sameFamily says whether two siblings differ from the name in one number
// only, and no rank word stands before that number.
func sameFamily(name string, siblings []string) verdict {
	template, numbers := Family(name)
	if len(numbers) == 0 || !hasLetter(name) || hasWord(name, rankWords) {
		return verdict{} // a name of numbers alone, 2026-11-21, is a date
	}
	two := atLeastTwo(siblings, func(s string) bool {
		t, n := Family(s)
		return t == template && differences(numbers, n) == 1
	})
	return verdict{two, "two siblings are named " + template}
}

func atLeastTwo(names []string, is func(string) bool) bool {
	count := 0
	for _, n := range names {
		if is(n) {
			if count++; count == 2 {
				return true
			}
		}
	}
	return false
}

func differences(a, b []int64) int {
	count := 0
	for i := range a {
		if a[i] != b[i] {
			count++
		}
	}
	return count
}
