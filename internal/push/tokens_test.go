// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/delegation-dev/delegation-operator/internal/push"
)

func tokens(t testing.TB, fill byte) *push.Tokens {
	t.Helper()
	tokens, err := push.NewTokens(bytes.Repeat([]byte{fill}, push.KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func TestTokens(t *testing.T) {
	ours, again, foreign := tokens(t, 1), tokens(t, 1), tokens(t, 2)
	const uid types.UID = "6f0c"
	token := ours.Of(uid)
	for _, c := range []struct {
		name  string
		uid   types.UID
		token string
		want  bool
	}{
		{"its own", uid, token, true},
		{"its own, from another process with the key", uid, again.Of(uid), true},
		{"another Delegation's", uid, ours.Of("6f0d"), false},
		{"its own at another Delegation", "6f0d", token, false},
		{"of another key", uid, foreign.Of(uid), false},
		{"none", uid, "", false},
		{"the UID itself", uid, string(uid), false},
		{"a part", uid, token[:len(token)-1], false},
		{"more than it", uid, token + "A", false},
		{"in other letters", uid, strings.ToUpper(token), false},
		{"of no Delegation", "", token, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ours.Valid(c.uid, c.token); got != c.want {
				t.Errorf("Valid(%q, %q) is %t, want %t", c.uid, c.token, got, c.want)
			}
		})
	}
	if strings.Contains(token, string(uid)) || len(token) != 43 {
		t.Errorf("the token %q is not the 256 bits of a digest in base64url", token)
	}
}

// The tokens of a key must never change: agents hold them for as long as their tasks live.
func TestATokenStays(t *testing.T) {
	if got, want := tokens(t, 1).Of("6f0c"), "qbPYnYF3AjgSuqMvi7O36LsvhyqnhPErLxV4ZsTa7u4"; got != want {
		t.Errorf("the token is %s, was %s", got, want)
	}
}

func TestShortKeys(t *testing.T) {
	for _, n := range []int{0, 1, push.KeyBytes - 1} {
		if _, err := push.NewTokens(make([]byte, n)); !errors.Is(err, push.ErrKey) {
			t.Errorf("a key of %d bytes: error %v, want %v", n, err, push.ErrKey)
		}
	}
}

func TestOffers(t *testing.T) {
	for _, c := range []struct{ base, want string }{
		{"https://push.example.com", "https://push.example.com/6f0c"},
		{"https://push.example.com/", "https://push.example.com/6f0c"},
		{"https://push.example.com/a2a", "https://push.example.com/a2a/6f0c"},
		{"http://10.0.0.1:8444/a2a/", "http://10.0.0.1:8444/a2a/6f0c"},
		{"", ""},
		{"push.example.com", ""},
		{"ftp://push.example.com", ""},
		{"https://user:pass@push.example.com", ""},
		{"https://push.example.com/?key=1", ""},
		{"https://push.example.com/#a", ""},
	} {
		t.Run(c.base, func(t *testing.T) {
			offer, err := push.NewOffer(c.base, tokens(t, 1))
			if c.want == "" {
				if !errors.Is(err, push.ErrURL) {
					t.Errorf("error %v, want %v", err, push.ErrURL)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := offer.Config("6f0c"); got.URL != c.want || got.ID != "6f0c" || got.Token != tokens(t, 1).Of("6f0c") {
				t.Errorf("%+v; want the URL %s", got, c.want)
			}
		})
	}
}
