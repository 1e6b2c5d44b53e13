#!/usr/bin/env bash
# Copyright The Delegation Operator Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Usage: heartbeat.sh MESSAGE COMMAND [ARG...]
# Runs the command and says every 30 seconds that it still works.
set -euo pipefail

message=$1
shift
echo "$message"
start=$SECONDS
said=$SECONDS
"$@" &
command=$!
# An interrupt from the keyboard reaches the command by itself; a signal sent
# to this script alone has to be passed on.
trap 'kill "$command" 2>/dev/null || true' INT TERM

while kill -0 "$command" 2>/dev/null; do
	sleep 0.2
	if ((SECONDS - said >= 30)); then
		said=$SECONDS
		echo "  still working ($((SECONDS - start)) s)"
	fi
done
wait "$command"
echo "  done in $((SECONDS - start)) s"
