#!/usr/bin/env bash
# Copyright The Delegation Operator Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Runs each fuzz target of the module for a while: hack/fuzz.sh <time> [pattern]. A target is found by its name, so that
# none is forgotten. What breaks one is kept by go test in testdata/fuzz of its package, and is run by go test from then on.
set -euo pipefail
fuzztime=$1 pattern=${2:-^Fuzz}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Only packages with such a function are built.
mapfile -t packages < <(git grep -lE '^func Fuzz' -- '*_test.go' | xargs -n1 dirname | sort -u)
failed=0 run=0
for package in "${packages[@]}"; do
	listed=$(go test -list "$pattern" "./$package") # a package that does not build ends it all
	for target in $(grep '^Fuzz' <<<"$listed"); do
		run=$((run + 1))
		if go test "./$package" -run '^$' -fuzz "^$target\$" -fuzztime "$fuzztime" -parallel 2 >"$log" 2>&1; then
			printf 'ok      %-18s %s\n' "$target" "$package: $(grep -oE 'execs: [0-9]+' "$log" | tail -1), $(grep -oE 'new interesting: .*' "$log" | tail -1)"
		else
			printf 'FAILED  %-18s %s\n' "$target" "$package"
			cat "$log"
			failed=$((failed + 1))
		fi
	done
done
echo "$run targets, $failed failed"
((run > 0 && failed == 0))
