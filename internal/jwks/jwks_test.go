// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jwks_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/delegation-dev/delegation-operator/internal/cardsign"
	"github.com/delegation-dev/delegation-operator/internal/egress"
	"github.com/delegation-dev/delegation-operator/internal/jwks"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// publisher serves a key set by HTTPS.
type publisher struct {
	*httptest.Server
	asked atomic.Int32

	mu     sync.Mutex
	answer http.HandlerFunc
}

func publish(t *testing.T, text string) *publisher {
	t.Helper()
	p := &publisher{}
	p.serve(text)
	p.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		p.mu.Lock()
		answer := p.answer
		p.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *publisher) serve(text string) {
	p.set(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) })
}

func (p *publisher) set(answer http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

// place is the publisher as an owner sees it who trusts its certificate.
func (p *publisher) place() jwks.Place {
	pool := x509.NewCertPool()
	pool.AddCert(p.Certificate())
	return jwks.Place{Owner: "uid-1", URL: p.URL, Network: remote.Network{TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
}

// keySet is a set of one key, and the key as it is read.
func keySet(t *testing.T) (string, cardsign.Keys) {
	t.Helper()
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public, KeyID: "k"}}})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := cardsign.ParseSet(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), keys
}

// same reports whether two sets of one key or none are of the same key.
func same(a, b cardsign.Keys) bool { return slices.Equal(a.Thumbprints(), b.Thumbprints()) }

// Keys are kept for 10 minutes, and fetched again before for a card that they don't verify, at most once in 10 seconds.
func TestKeeper(t *testing.T) {
	oldText, old := keySet(t)
	newText, renewed := keySet(t)
	p := publish(t, oldText)
	k, start := &jwks.Keeper{}, time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name  string
		after time.Duration
		renew bool
		serve string
		want  cardsign.Keys
		asked int32
	}{
		{"the first time", 0, false, "", old, 1},
		{"again", time.Second, false, newText, old, 1},
		{"for an unknown key, too soon", 9 * time.Second, true, "", old, 1},
		{"without need", 11 * time.Second, false, "", old, 1},
		{"for an unknown key", 11 * time.Second, true, "", renewed, 2},
		{"for an unknown key, too soon again", 20 * time.Second, true, oldText, renewed, 2},
		{"before they are old", 11*time.Second + 10*time.Minute - time.Millisecond, false, "", renewed, 2},
		{"when they are old", 11*time.Second + 10*time.Minute, false, "", old, 3},
		{"when there are none any more", time.Hour, false, "{}", nil, 4},
		{"too soon after that", time.Hour + time.Second, false, newText, nil, 4},
		{"later", time.Hour + 10*time.Second, false, "", renewed, 5},
		{"when all were withdrawn", 2 * time.Hour, false, `{"keys":[]}`, cardsign.Keys{}, 6},
		{"a minute after that", 2*time.Hour + time.Minute, false, newText, cardsign.Keys{}, 6},
		{"for a card that none verifies", 2*time.Hour + time.Minute, true, "", renewed, 7},
	} {
		if c.serve != "" {
			p.serve(c.serve)
		}
		got, err := k.Get(t.Context(), p.place(), start.Add(c.after), c.renew)
		if !same(got, c.want) || errors.Is(err, remote.ErrKeysUnavailable) != (c.want == nil) || p.asked.Load() != c.asked {
			t.Errorf("%s: %v, %v, after %d requests; want %v after %d", c.name, got.Thumbprints(), err, p.asked.Load(), c.want.Thumbprints(), c.asked)
		}
	}
}

// Nothing is shared between owners, nor between what one owner trusted before and trusts now.
func TestOwners(t *testing.T) {
	text, _ := keySet(t)
	p := publish(t, text)
	k, now := &jwks.Keeper{}, time.Now()
	get := func(change func(*jwks.Place), want int32) {
		t.Helper()
		place := p.place()
		change(&place)
		if _, err := k.Get(t.Context(), place, now, false); err != nil || p.asked.Load() != want {
			t.Errorf("%v, after %d requests; want %d", err, p.asked.Load(), want)
		}
	}
	get(func(*jwks.Place) {}, 1)
	get(func(*jwks.Place) {}, 1)
	get(func(o *jwks.Place) { o.Owner = "uid-2" }, 2)
	get(func(*jwks.Place) {}, 2)
	get(func(o *jwks.Place) { o.URL += "/other" }, 3)
	get(func(*jwks.Place) {}, 4)
	get(func(o *jwks.Place) { o.Trust = []byte("another authority") }, 5)
	k.Forget("uid-1")
	get(func(o *jwks.Place) { o.Owner = "uid-2" }, 5)
	get(func(*jwks.Place) {}, 6)
}

// What is no key set, or is not to be had, is an error of its own.
func TestUnavailable(t *testing.T) {
	elsewhere := publish(t, "{}")
	redirect := http.RedirectHandler(elsewhere.URL, http.StatusFound)
	for name, answer := range map[string]http.HandlerFunc{
		"not found": http.NotFound,
		"an error":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"HTML":      func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"no end": func(w http.ResponseWriter, _ *http.Request) {
			for line := []byte(strings.Repeat(" ", 4096)); ; {
				if _, err := w.Write(line); err != nil {
					return
				}
			}
		},
		"a redirect":                 redirect.ServeHTTP,
		"a redirect on its own host": http.RedirectHandler("/other", http.StatusFound).ServeHTTP,
	} {
		t.Run(name, func(t *testing.T) {
			p := publish(t, "")
			p.set(answer)
			if keys, err := (&jwks.Keeper{}).Get(t.Context(), p.place(), time.Now(), false); keys != nil || !errors.Is(err, remote.ErrKeysUnavailable) {
				t.Errorf("%v, %v", keys, err)
			}
			if p.asked.Load() != 1 {
				t.Errorf("%d requests", p.asked.Load())
			}
		})
	}
	if elsewhere.asked.Load() != 0 {
		t.Error("the redirect was followed")
	}
}

// Keys are not fetched from where the manager does not connect to, and not without TLS.
func TestDeniedPlaces(t *testing.T) {
	text, _ := keySet(t)
	p := publish(t, text)
	denied := p.place()
	denied.Network.DialContext = (*egress.Policy)(nil).DialContext
	_, err := (&jwks.Keeper{}).Get(t.Context(), denied, time.Now(), false)
	if !errors.Is(err, egress.ErrDenied) || !errors.Is(err, remote.ErrKeysUnavailable) {
		t.Errorf("loopback: %v", err)
	}
	for _, u := range []string{"", "http://finance.example.com/jwks.json", "/jwks.json", "https://a:b@finance.example.com", "file:///etc/keys"} {
		if _, err := (&jwks.Keeper{}).Get(t.Context(), jwks.Place{URL: u}, time.Now(), false); !errors.Is(err, remote.ErrKeysUnavailable) {
			t.Errorf("%q: %v", u, err)
		}
	}
	strange := p.place()
	strange.Network.TLS = nil
	if _, err := (&jwks.Keeper{}).Get(t.Context(), strange, time.Now(), false); !errors.Is(err, remote.ErrKeysUnavailable) {
		t.Errorf("an authority that nobody trusts: %v", err)
	}
	if p.asked.Load() != 0 {
		t.Errorf("%d requests", p.asked.Load())
	}
}
