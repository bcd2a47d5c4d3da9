#!/bin/bash
# fuzz.sh runs each fuzz target of the module for $FUZZTIME, one after another.
# It goes on after a finding and fails at the end.
set -euo pipefail
cd "$(dirname "$0")/.."

time=${FUZZTIME:-1m}
ran=0 failed=()
while IFS=: read -r file target; do
	package=./$(dirname "$file")
	echo "== $package $target for $time"
	ran=$((ran + 1))
	go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package" || failed+=("$package $target")
done < <(git grep -o -E '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | sed 's/func //')

echo "$ran fuzz targets, ${#failed[@]} with findings"
if [ ${#failed[@]} -gt 0 ]; then
	printf 'found something: %s\n' "${failed[@]}"
	exit 1
fi
