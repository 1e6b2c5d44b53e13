// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/delegation-dev/delegation-operator/internal/cardsign/cardtest"
)

// Where nothing tells that a key was taken out of the Secret, it is looked for every minute.
func TestUnwatchedCardKeysAreReadAgain(t *testing.T) {
	w, owner := newWeb(t), cardtest.NewSigner(t, jose.ES256, "k1")
	for _, c := range []struct {
		name                 string
		published, unwatched bool
		want                 time.Duration
	}{
		{"in a Secret that is not watched", false, true, time.Minute},
		{"in a Secret that is watched", false, false, cardRefresh},
		{"published", true, true, cardRefresh},
	} {
		e := verifying(t, w, cardtest.Set(t, owner), c.published)
		e.r.Agents.UnwatchedSecrets = c.unwatched
		if got := e.r.Agents.refresh(e.ra); got != c.want {
			t.Errorf("%s: examined again after %s, want %s", c.name, got, c.want)
		}
	}
}

// The end of a problem with the Secret of the keys is seen, where nothing tells of it too. The endpoint is not lost meanwhile: it is
// where tasks are canceled when the RemoteAgent is deleted.
func TestUnwatchedCardKeysAreWaitedFor(t *testing.T) {
	w, owner := newWeb(t), cardtest.NewSigner(t, jose.ES256, "k1")
	for reason, spoil := range map[string]func(*examination){
		"SecretInvalid":  func(e *examination) { e.trust("no keys") },
		"SecretNotFound": func(e *examination) { e.ra.Spec.Verification.SecretRef.Name = "missing" },
	} {
		for _, unwatched := range []bool{false, true} {
			e := verifying(t, w, cardtest.Set(t, owner), false)
			e.r.Agents.UnwatchedSecrets = unwatched
			w.serveCard(owner.Signed(t, naming(w.URL+"/a2a")))
			e.require("Ready", w.URL+"/a2a")
			spoil(e)
			s := e.ra.Status.DeepCopy()
			v, err := e.r.inspect(t.Context(), e.ra, s)
			if err != nil || v.problem == nil || v.problem.Reason != reason || v.retry != unwatched || s.Endpoint == nil {
				t.Errorf("unwatched %t: retried %t, %+v, %v, endpoint %v; want %s", unwatched, v.retry, v.problem, err, s.Endpoint, reason)
			}
		}
	}
}

// A published set without keys withdraws them all, and is not a set that is away.
func TestEmptiedSetWithdrawsCardKeys(t *testing.T) {
	for name, set := range map[string]string{"empty": `{"keys":[]}`, "of other keys": `{"keys":[{"kty":"oct","k":"AAAA","kid":"k1"}]}`} {
		t.Run(name, func(t *testing.T) {
			w, owner := newWeb(t), cardtest.NewSigner(t, jose.ES256, "k1")
			e := verifying(t, w, "", true)
			w.serveKeys(cardtest.Set(t, owner))
			w.serveCard(owner.Signed(t, naming(w.URL+"/a2a")))
			e.require("Ready", w.URL+"/a2a")
			w.serveKeys(set)
			for range 9 { // the keys are used for 10 minutes
				e.require("Ready", w.URL+"/a2a")
			}
			e.require(reasonCardKeyUnknown, "")
			e.require(reasonCardKeyUnknown, "")
		})
	}
}

// An answer that is too large to be a card is not a card that is away: it keeps no endpoint, whether or not its key is trusted.
func TestLargeCardKeepsNoEndpoint(t *testing.T) {
	large := []byte(strings.Repeat("x", 1<<20+1))
	for _, withdrawn := range []bool{false, true} {
		w, old, renewed := newWeb(t), cardtest.NewSigner(t, jose.ES256, "k1"), cardtest.NewSigner(t, jose.ES256, "k2")
		e := verifying(t, w, cardtest.Set(t, old), false)
		w.serveCard(old.Signed(t, naming(w.URL+"/a2a")))
		e.require("Ready", w.URL+"/a2a")
		if withdrawn {
			e.trust(cardtest.Set(t, renewed))
		}
		w.serveCard(large)
		e.require("CardUnavailable", "")
		e.require("CardUnavailable", "")
	}
}
