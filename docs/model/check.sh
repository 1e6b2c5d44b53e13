#!/usr/bin/env bash
# Copyright The Delegation Operator Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Usage: check.sh
# Searches the model of the delivery protocol with spin, and then searches broken
# models, each of which has to be found out. Exits with 1 if a property does not
# hold, a mutant is not caught, a witness is not found, or a search is incomplete;
# with 2 if a tool is missing.
set -euo pipefail

if ! command -v spin >/dev/null; then
	echo "check.sh: spin is missing; on Debian: apt-get install spin" >&2
	exit 2
fi
if ! command -v gcc >/dev/null; then
	echo "check.sh: gcc is missing, which spin's searches are compiled with; on Debian: apt-get install gcc" >&2
	exit 2
fi

model=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/outbox.pml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Two searches run at a time, each within this many MB.
memory=900
depth=100000
export LC_ALL=C

# build DIR "SPIN DEFINES" GCC-FLAGS...
build() {
	local dir=$1 defines=$2
	shift 2
	mkdir -p "$dir"
	[ -e "$dir/outbox.pml" ] || cp "$model" "$dir/outbox.pml"
	# shellcheck disable=SC2086 # the defines are words, none of which has a space
	(cd "$dir" && spin $defines -a outbox.pml >spin.log 2>&1 && gcc -w -DMEMLIM=$memory "$@" -o pan pan.c >gcc.log 2>&1) || {
		cat "$dir"/*.log >"$dir/out"
		return 1
	}
}

# complete OUT: the search went through all states.
complete() {
	! grep -Eqi 'max search depth too small|memlim|out of memory|not completed|vectorsz|truncat|hash-?compact|bit ?state' "$1"
}

stored() { awk '/states, stored/ { print $1 + 0; exit }' "$1"; }

# search NAME CONTRACT DEADLINE PROPERTY CRASHES FAULTS HASTE
search() {
	local dir=$work/$1 contract=$2 deadline=$3 property=$4 result=holds
	local defines="-D$2 -DCRASHES=$5 -DFAULTS=$6 -DHASTE=$7" mode=(-DSAFETY) run=()
	[ "$deadline" = no ] || defines+=" -DDELIVERY_END"
	if [ "$property" = done ]; then
		defines+=" -DP_DONE" mode=(-DNFAIR=3) run=(-a -f)
	else
		defines+=" -DP_TASK -DP_OPEN -DP_TRUTH"
	fi
	# To compile with -O2 takes longer than most searches do.
	case $1 in s1 | s2) mode+=(-O2) ;; *) mode+=(-O1) ;; esac
	if ! build "$dir" "$defines" "${mode[@]}"; then
		result="DOES NOT COMPILE"
	else
		(cd "$dir" && ./pan -m$depth "${run[@]}" >out 2>&1) || true
		if ! grep -q 'errors: 0' "$dir/out"; then
			result="DOES NOT HOLD"
		elif ! complete "$dir/out" || [ "$(stored "$dir/out")" -lt 1000 ]; then
			# Next to no states means that the formula held before it began.
			result="INCOMPLETE"
		elif [ "$property" = done ] && ! grep -Eq 'acceptance +cycles[[:space:]]+\+ \(fairness enabled\)' "$dir/out"; then
			result="NOT FAIR"
		elif [ "$property" != done ] && ! grep -Eq 'invalid end states[[:space:]]+\+' "$dir/out"; then
			result="END STATES NOT CHECKED"
		fi
	fi
	printf '%-13s  %-8s  %-8s  %7d  %6d  %5d  %8s  %5s  %s\n' "$contract" "$deadline" "$property" "$5" "$6" "$7" \
		"$(stored "$dir/out")" "$(sed -n 's/.*depth reached \([0-9]*\).*/\1/p' "$dir/out")" "$result" >"$dir/row"
}

# replay DIR "DEFINES": the steps of the counterexample in words.
replay() {
	# shellcheck disable=SC2086
	(cd "$1" && spin -t $2 outbox.pml 2>/dev/null) | grep -E '^ *(replica|agent|network|time)' | sed -E 's/^ */    /'
}

# mutant NAME DEFINE CONTRACT PROPERTY EXPECTED
mutant() {
	local dir=$work/$1 defines="-D$2 -D$3 -DCRASHES=1 -DFAULTS=2 -DHASTE=0" mode=(-DSAFETY -DBFS) run=() result
	case $4 in
	stuck) ;;
	P_DONE) defines+=" -DP_DONE" mode=(-DNFAIR=3) run=(-a -f) ;;
	*) defines+=" -D$4" run=(-E) ;;
	esac
	[ "${6:-no}" = no ] || defines+=" -DDELIVERY_END"
	if ! build "$dir" "$defines" "${mode[@]}"; then
		result="DOES NOT COMPILE"
	else
		(cd "$dir" && ./pan -m$depth "${run[@]}" >out 2>&1) || true
		result="NOT CAUGHT"
		if grep -Eq "$5" "$dir/out" && ls "$dir"/*.trail >/dev/null 2>&1; then result=caught; fi
	fi
	printf '%-16s  %-13s  %-7s  %s\n' "$2" "$3" "$4" "$result" >"$dir/row"
	# A search breadth first finds the shortest one. That of a cycle is not breadth first, and long.
	if [ "$4" != P_DONE ] && [ "$result" = caught ]; then
		replay "$dir" "$defines" >"$dir/trail"
	fi
}

# witness NAME CONTRACT CONDITION WHAT [DELIVERY_END]: a state that has to be reachable.
witness() {
	local dir=$work/$1 defines="-D$2 -DCRASHES=1 -DFAULTS=2 -DHASTE=1" result="NOT FOUND"
	[ -z "${5:-}" ] || defines+=" -D$5"
	mkdir -p "$dir"
	{
		echo "#define WITNESS ($3)"
		cat "$model"
	} >"$dir/outbox.pml"
	if ! build "$dir" "$defines" -DSAFETY; then
		result="DOES NOT COMPILE"
	else
		(cd "$dir" && ./pan -E -m$depth >out 2>&1) || true
		if grep -Eq 'assertion violated *!\(' "$dir/out"; then result=found; fi
	fi
	printf '%-13s  %-66s  %s\n' "$2" "$4" "$result" >"$dir/row"
}

# go COMMAND NAME ...: runs it beside one other.
names=()
go() {
	names+=("$2")
	while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n || true; done
	"$@" &
}

failed=0
# report PATTERN: the rows in the order of the calls. A row that does not end in one of the words is a failure.
report() {
	local name
	wait
	for name in "${names[@]}"; do
		if ! cat "$work/$name/row"; then failed=1; continue; fi
		if ! grep -Eq " ($1)\$" "$work/$name/row"; then
			failed=1
			tail -n 15 "$work/$name/out" 2>/dev/null || true
		fi
	done
	echo
}

cat <<'TEXT'
safety: at most one task; no message leaves while an earlier one may have been accepted (without
deduplication); the status is true; no state is stuck. done: every fair run ends.
TEXT
echo "Searches. The bounds are crashes, faults, and replays in haste."
printf '%-13s  %-8s  %-8s  %7s  %6s  %5s  %8s  %5s  %s\n' contract deadline property crashes faults haste states depth result
go search s1 DEDUP no safety 2 1 1
go search s2 AUTHORITATIVE no safety 2 2 0
go search s3 BESTEFFORT no safety 2 2 0
go search s4 NONE no safety 2 2 0
go search s5 DEDUP yes safety 1 1 0
go search s6 AUTHORITATIVE yes safety 1 1 0
go search s7 BESTEFFORT yes safety 1 1 0
go search s8 NONE yes safety 2 2 0
go search l1 DEDUP no "done" 1 1 0
go search l2 AUTHORITATIVE no "done" 1 1 0
go search l3 BESTEFFORT no "done" 1 1 0
go search l4 NONE no "done" 2 2 0
go search l5 DEDUP yes "done" 1 1 0
go search l6 AUTHORITATIVE yes "done" 1 1 0
go search l7 BESTEFFORT yes "done" 1 1 0
go search l8 NONE yes "done" 2 2 0
report holds

names=()
echo "Witnesses. What has to be possible, or the searches show nothing."
go witness w1 DEDUP "tasks==1&&sent>=3&&object.phase==Bound" "three copies leave, the agent makes one task, it is bound"
go witness w2 AUTHORITATIVE "sent==2&&object.phase==Bound" "a lost message is sent again after a search, and bound"
go witness w3 BESTEFFORT "object.phase==Bound&&looked[0]" "an Unknown message is found later"
go witness w4 BESTEFFORT "object.phase==Unknown&&tasks==1" "Unknown although there is a task"
go witness w5 NONE "object.phase==Unknown&&tasks==0&&FLYING==0" "Unknown although there is none"
go witness w6 NONE "sent==2&&object.phase==Bound" "a message that was turned down is sent again, and bound"
go witness w7 NONE "object.phase==Undelivered&&sent==1" "Undelivered after a message that was turned down" DELIVERY_END
report found

names=()
echo "Mutants. Each has to be caught."
asserted='assertion violated'
go mutant m1 NO_JOURNAL NONE P_TASK "$asserted"
go mutant m2 BLIND_JOURNAL AUTHORITATIVE P_TASK "$asserted"
go mutant m3 NEW_ID DEDUP P_TASK "$asserted"
go mutant m4 BELIEVES_EARLY AUTHORITATIVE P_TASK "$asserted"
go mutant m5 LOST_IS_NOT_SENT BESTEFFORT P_TASK "$asserted"
go mutant m6 LOST_IS_NOT_SENT NONE P_OPEN "$asserted"
go mutant m7 FORGETS_EARLIER DEDUP P_TRUTH "$asserted"
go mutant m8 TAKES_OTHERS NONE P_TRUTH "$asserted"
go mutant m9 STALE_OWN NONE P_TASK "$asserted"
go mutant m10 WAITS_FOR_HOLDER NONE stuck 'invalid end state'
go mutant m11 WAITS_FOR_HOLDER NONE P_DONE 'acceptance cycle'
report caught
for name in "${names[@]}"; do
	[ -s "$work/$name/trail" ] || continue
	read -r mutation contract property _ <"$work/$name/row"
	echo "  $mutation, $contract, $property"
	cat "$work/$name/trail"
done

if [ "$failed" != 0 ]; then
	echo "FAILED" >&2
	exit 1
fi
echo "All properties hold, all witnesses are found, all mutants are caught. ${SECONDS} s."
