// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

const names = 10_000

func name(i int) types.NamespacedName {
	return types.NamespacedName{Namespace: fmt.Sprintf("team-%d", i%7), Name: fmt.Sprintf("d-%d", i)}
}

func parse(t *testing.T, s string) Shard {
	t.Helper()
	out, err := Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// owner is the one shard that owns a name.
func owner(t *testing.T, of types.NamespacedName, n int) int {
	t.Helper()
	found := -1
	for i := range n {
		if !parse(t, fmt.Sprintf("%d/%d", i, n)).Owns(of) {
			continue
		}
		if found >= 0 {
			t.Fatalf("%s has the owners %d and %d of %d", of, found, i, n)
		}
		found = i
	}
	if found < 0 {
		t.Fatalf("%s has no owner among %d", of, n)
	}
	return found
}

// Each name has one owner, and the owners have about as many.
func TestOneOwner(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 16} {
		owned := make([]int, n)
		for i := range names {
			owned[owner(t, name(i), n)]++
		}
		for i, got := range owned {
			if even := names / n; got < even*8/10 || got > even*12/10 {
				t.Errorf("shard %d/%d owns %d of %d; want about %d", i, n, got, names, even)
			}
		}
	}
}

// Who owns what must not differ between two versions of this program: the numbers are of a fixed algorithm.
func TestOwnersStay(t *testing.T) {
	for i, want := range map[int][3]int{0: {0, 0, 8}, 1: {1, 1, 10}, 2: {0, 0, 4}, 3: {1, 1, 12}} {
		if got := [3]int{owner(t, name(i), 2), owner(t, name(i), 3), owner(t, name(i), 16)}; got != want {
			t.Errorf("%s is owned by %v of 2, 3 and 16; want %v", name(i), got, want)
		}
	}
}

// With one shard more, a name stays or goes to the new one, and about one in n goes: so what i/(n+1) owns is a part of what
// i/n does.
func TestGrowing(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8} {
		moved := 0
		for i := range names {
			before, after := owner(t, name(i), n), owner(t, name(i), n+1)
			switch {
			case before == after:
			case after == n:
				moved++
			default:
				t.Fatalf("%s went from %d/%d to %d/%d", name(i), before, n, after, n+1)
			}
		}
		if want := names / (n + 1); moved < want*8/10 || moved > want*12/10 {
			t.Errorf("from %d to %d shards %d of %d names moved; want about %d", n, n+1, moved, names, want)
		}
	}
}

func TestParse(t *testing.T) {
	for s, want := range map[string]string{"": "", "0/1": "", "0/3": "0/3", "2/3": "2/3", "63/64": "63/64"} {
		if got := parse(t, s); got.String() != want || got.All() != (want == "") {
			t.Errorf("%q is %q, all: %t; want %q", s, got, got.All(), want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	const form = "it must be i/n, such as 0/3, 1/3 and 2/3 for three managers"
	for s, want := range map[string]string{
		"3/3":   "3/3: parts are counted from 0: it must be 0/3 to 2/3",
		"-1/3":  "-1/3: parts are counted from 0: it must be 0/3 to 2/3",
		"1/1":   "1/1: parts are counted from 0: it must be 0/1 to 0/1",
		"0/0":   "0/0: there are from 1 to 64 parts: " + form,
		"0/65":  "0/65: there are from 1 to 64 parts: " + form,
		"1":     "1: is no part of a whole: " + form,
		"a/3":   "a/3: is no part of a whole: " + form,
		"0/3/4": "0/3/4: is no part of a whole: " + form,
		"/":     "/: is no part of a whole: " + form,
	} {
		if _, err := Parse(s); err == nil || err.Error() != want {
			t.Errorf("%q: %v; want %s", s, err, want)
		}
	}
}

// The shares of a limit add up to it, and nobody has none.
func TestShare(t *testing.T) {
	for _, c := range []struct{ limit, n, sum int }{{16, 3, 16}, {50, 3, 50}, {3, 3, 3}, {1, 3, 3}, {2, 3, 3}, {0, 3, 0}, {7, 1, 7}} {
		sum := 0
		for i := range c.n {
			sum += parse(t, fmt.Sprintf("%d/%d", i, c.n)).Share(c.limit)
		}
		if sum != c.sum {
			t.Errorf("the shares of %d among %d add up to %d; want %d", c.limit, c.n, sum, c.sum)
		}
	}
}

func TestLease(t *testing.T) {
	for s, want := range map[string]string{"": "lease", "0/1": "lease", "0/2": "lease-0", "0/3": "lease-0", "2/3": "lease-2"} {
		if got := parse(t, s).Lease("lease"); got != want {
			t.Errorf("%q has the lease %q; want %q", s, got, want)
		}
	}
}
