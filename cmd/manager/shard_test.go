// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

func TestShardFlag(t *testing.T) {
	for args, want := range map[string]string{"": "", "--shard=": "", "--shard=1/3": "1/3"} {
		if got, err := parse(t, args).shard.parse(); err != nil || got.String() != want {
			t.Errorf("%q: %q, %v; want %q", args, got, err, want)
		}
	}
	const want = "--shard=3/3: parts are counted from 0: it must be 0/3 to 2/3"
	if _, err := parse(t, "--shard=3/3").shard.parse(); err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
}
