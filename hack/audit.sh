#!/usr/bin/env bash
# Copyright The Delegation Operator Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Usage: audit.sh TOOLS OUT
# Writes into OUT what each program is made of (an SBOM in CycloneDX) and which
# vulnerable functions are linked into it. The programs in TOOLS are govulncheck,
# cyclonedx-gomod and indexdb.
#
# The exit code is 0 only where the programs were held against a vulnerability database:
# 3 for vulnerabilities that were found, 2 where there was no database. The database
# is the one of GOVULNDB or vuln.go.dev. Where that can't be reached, it is the
# snapshot golang.org/x/vulndb that hack/tools/vulndb pins, which the Go module
# proxy has; how old it is, is said.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools=$1 out=$2
mkdir -p "$out"

# From the programs as they were built: what is in go.mod and not in them is no part of them.
version=$(git describe --always --dirty 2>/dev/null || echo unknown)
for dir in cmd/*/; do
	name=$(basename "$dir")
	"$tools/cyclonedx-gomod" bin -json -version "$version" -output "$out/$name.cdx.json" "bin/$name"
	echo "wrote $out/$name.cdx.json"
done

database=${GOVULNDB:-https://vuln.go.dev}
report=$(timeout 60 "$tools/govulncheck" -db "$database" -version || true)
if ! grep -q '^DB updated:' <<<"$report"; then
	echo "the vulnerability database $database can't be reached: taking the snapshot of hack/tools/vulndb"
	if ! go -C hack/tools/vulndb mod download golang.org/x/vulndb; then
		echo "NOT CHECKED for vulnerabilities: there is no snapshot either. Run make audit where vuln.go.dev or a Go" \
			"module proxy can be reached, or name a copy of the database with GOVULNDB=file:///path" >&2
		exit 2
	fi
	rm -rf "$out/vulndb"
	"$tools/indexdb" -vulns "$(go -C hack/tools/vulndb list -m -f '{{.Dir}}' golang.org/x/vulndb)/data/osv" -out "$out/vulndb"
	database="file://$(cd "$out/vulndb" && pwd)"
	echo "the snapshot is $(go -C hack/tools/vulndb list -m golang.org/x/vulndb): later findings are not in it"
fi

# The programs and not the source: it takes seconds and what is in them is what runs. Their symbols tell which
# vulnerable functions are linked.
status=0
for dir in cmd/*/; do
	name=$(basename "$dir")
	echo "== $name"
	"$tools/govulncheck" -db "$database" -show version -mode binary "bin/$name" || status=$?
done > >(tee "$out/vulnerabilities.txt") 2>&1
exit "$status"
