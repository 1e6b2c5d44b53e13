// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/cardsign/cardtest"
	"github.com/delegation-dev/delegation-operator/internal/credential"
	"github.com/delegation-dev/delegation-operator/internal/egress"
)

// web serves documents by HTTPS: a card, and keys at /jwks.json. An empty one is answered HTTP 503.
type web struct {
	*httptest.Server
	mu         sync.Mutex
	card, keys string
}

func newWeb(t *testing.T) *web {
	t.Helper()
	w := &web{}
	w.Server = httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		text := w.card
		if r.URL.Path == "/jwks.json" {
			text = w.keys
		}
		if text == "" {
			rw.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = fmt.Fprint(rw, text)
	}))
	t.Cleanup(w.Close)
	return w
}

// set replaces what is served; nil leaves it.
func (w *web) set(card, keys *string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if card != nil {
		w.card = *card
	}
	if keys != nil {
		w.keys = *keys
	}
}

// naming is a card with one interface.
func naming(url string) string {
	return fmt.Sprintf(`{"name":"finance","supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, url)
}

// examination is a RemoteAgent that is examined again and again, each time with the status of before.
type examination struct {
	t     *testing.T
	r     *RemoteAgentReconciler
	clock *clocktesting.FakePassiveClock
	ra    *v1alpha1.RemoteAgent
	keys  *corev1.Secret
}

// verifying is a RemoteAgent whose card is at a server, with its authority and keys in Secrets.
func verifying(t *testing.T, w *web, keys string, published bool) *examination {
	t.Helper()
	e := &examination{t: t, clock: clocktesting.NewFakePassiveClock(time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC))}
	e.ra = &v1alpha1.RemoteAgent{ObjectMeta: metav1.ObjectMeta{Namespace: "books", Name: "finance", UID: "uid-1", Generation: 1}, Spec: byCard(w.URL)}
	e.ra.Spec.TLS = &v1alpha1.TLS{CASecretRef: &v1alpha1.KeyReference{Name: "ca", Key: "ca.crt"}}
	e.ra.Spec.Verification = &v1alpha1.Verification{SecretRef: &v1alpha1.KeyReference{Name: "finance-keys", Key: "keys"}}
	if published {
		e.ra.Spec.Verification = &v1alpha1.Verification{JWKSURL: w.URL + "/jwks.json"}
	}
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.Certificate().Raw}))
	e.keys = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "books", Name: "finance-keys"}, Data: map[string][]byte{"keys": []byte(keys)}}
	c := fake.NewClientBuilder().WithObjects(e.keys,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "books", Name: "ca"}, Data: map[string][]byte{"ca.crt": []byte(ca)}}).Build()
	policy, err := egress.New(egress.Config{Allow: []string{"127.0.0.0/8"}})
	if err != nil {
		t.Fatal(err)
	}
	e.r = &RemoteAgentReconciler{Client: c, Clock: e.clock, Agents: &Agents{Egress: policy, Credentials: &credential.Keeper{Live: c, Clock: e.clock}}}
	return e
}

// trust replaces the keys in the Secret.
func (e *examination) trust(keys string) {
	e.t.Helper()
	e.keys.Data["keys"] = []byte(keys)
	if err := e.r.Client.Update(e.t.Context(), e.keys); err != nil {
		e.t.Fatal(err)
	}
}

// require examines the RemoteAgent a minute later. Ready means that messages go to the endpoint; any other reason that there
// is none, and that its message names what ends it.
func (e *examination) require(reason, endpoint string, named ...string) {
	e.t.Helper()
	e.clock.SetTime(e.clock.Now().Add(time.Minute))
	s := e.ra.Status.DeepCopy()
	s.ObservedGeneration = e.ra.Generation
	v, err := e.r.inspect(e.t.Context(), e.ra, s)
	if err != nil {
		e.t.Fatal(err)
	}
	e.r.conclude(s, v)
	e.ra.Status = *s
	ready, got := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady), ""
	if s.Endpoint != nil {
		got = s.Endpoint.URL
	}
	if ready.Reason != reason || got != endpoint || (ready.Status == metav1.ConditionTrue) != (reason == "Ready") {
		e.t.Fatalf("%s %q: %s; endpoint %q, want %s, %q", ready.Status, ready.Reason, ready.Message, got, reason, endpoint)
	}
	for _, name := range named {
		if !strings.Contains(ready.Message, name) {
			e.t.Errorf("%q does not name %s", ready.Message, name)
		}
	}
	if vouched := reason == "Ready" || reason == "NoUsableInterface"; !v.retry && reason != "Ready" || vouched != (s.Card != nil) {
		e.t.Errorf("retried %t, card %+v", v.retry, s.Card)
	}
	if reason == "Ready" && (s.Card.Signature == nil || s.Card.Signature.Thumbprint == "") {
		e.t.Errorf("the status does not say which key vouches for the card: %+v", s.Card)
	}
}

func (w *web) serveCard(text []byte) {
	s := string(text)
	w.set(&s, nil)
}

func (w *web) serveKeys(text string) { w.set(nil, &text) }

// A card that is swapped for one that nobody vouches for moves nothing: there is no endpoint until a signed card is back.
func TestSwappedCards(t *testing.T) {
	owner, stranger := cardtest.NewSigner(t, jose.ES256, "k1"), cardtest.NewSigner(t, jose.ES256, "k1")
	for name, keys := range map[string]string{"JWK set": cardtest.Set(t, owner), "PEM": owner.PEM(t)} {
		w := newWeb(t)
		good, evil := naming(w.URL+"/a2a"), naming(w.URL+"/evil")
		for what, c := range map[string]struct {
			card   []byte
			reason string
		}{
			"unsigned":                      {[]byte(evil), reasonCardUnsigned},
			"with the signature of another": {cardtest.With(t, evil, owner.Entry(t, good, nil)), reasonCardSignatureInvalid},
			"signed by a stranger":          {stranger.Signed(t, evil), reasonCardSignatureInvalid},
			"with a member twice":           {append([]byte(`{"supportedInterfaces":[{"url":"`+w.URL+`/evil"}],`), owner.Signed(t, good)[1:]...), reasonCardSignatureInvalid},
			"that is no card":               {[]byte("<html>"), reasonCardSignatureInvalid},
		} {
			t.Run(name+", swapped for one "+what, func(t *testing.T) {
				e := verifying(t, w, keys, false)
				w.serveCard(c.card)
				e.require(c.reason, "", "agent's owner")
				w.serveCard(owner.Signed(t, good))
				e.require("Ready", w.URL+"/a2a")
				w.serveCard(c.card)
				e.require(c.reason, "", "agent's owner")
				w.serveCard(owner.Signed(t, good))
				e.require("Ready", w.URL+"/a2a")
			})
		}
	}
}

// What the signature does not cover is not used, however it got into the card.
func TestUnsignedMembersAreNotUsed(t *testing.T) {
	w, owner := newWeb(t), cardtest.NewSigner(t, jose.ES256, "k1")
	e := verifying(t, w, cardtest.Set(t, owner), false)
	// The SDKs sign a card without the members that they don't know, such as the url of an older card.
	signed := `{"name":"finance"}`
	w.serveCard(cardtest.With(t, `{"name":"finance","url":"`+w.URL+`/evil"}`, owner.Entry(t, signed, nil)))
	e.require("NoUsableInterface", "")
}

// A key is replaced by adding the new one before the old one goes.
func TestRotatedCardKeys(t *testing.T) {
	w, old, renewed := newWeb(t), cardtest.NewSigner(t, jose.ES256, "k1"), cardtest.NewSigner(t, jose.EdDSA, "k2")
	card := naming(w.URL + "/a2a")
	e := verifying(t, w, cardtest.Set(t, old), false)
	w.serveCard(old.Signed(t, card))
	e.require("Ready", w.URL+"/a2a")
	w.serveCard(renewed.Signed(t, card))
	e.require(reasonCardKeyUnknown, "", `"k2"`, `key "keys" of Secret "finance-keys" in namespace books`)
	e.trust(cardtest.Set(t, old, renewed))
	e.require("Ready", w.URL+"/a2a")
	e.trust(cardtest.Set(t, renewed))
	e.require("Ready", w.URL+"/a2a")
	w.serveCard(nil)
	e.require("Ready", w.URL+"/a2a") // away for a while
	e.trust(cardtest.Set(t, old))
	e.require("CardUnavailable", "") // the key that vouched for it was withdrawn
}

// Published keys that were replaced are found at once, and keys that are away for a while don't move the endpoint.
func TestPublishedCardKeys(t *testing.T) {
	w, old, renewed := newWeb(t), cardtest.NewSigner(t, jose.ES256, "k1"), cardtest.NewSigner(t, jose.ES256, "k2")
	card := naming(w.URL + "/a2a")
	e := verifying(t, w, "", true)
	w.serveCard(old.Signed(t, card))
	e.require(reasonCardKeysUnavailable, "", "spec.verification.jwksURL")
	w.serveKeys(cardtest.Set(t, old))
	e.require("Ready", w.URL+"/a2a")
	w.serveCard(renewed.Signed(t, card))
	w.serveKeys(cardtest.Set(t, renewed))
	e.require("Ready", w.URL+"/a2a")
	w.serveKeys("")
	for range 11 {
		e.require("Ready", w.URL+"/a2a")
	}
	w.serveCard([]byte(naming(w.URL + "/evil")))
	e.require("Ready", w.URL+"/a2a") // without keys nothing is known of the card that is served now
	w.serveKeys(cardtest.Set(t, renewed))
	e.require(reasonCardUnsigned, "")
}

// While keys are kept, a swapped card is one whether or not they can be fetched again.
func TestSwappedCardWithoutKeys(t *testing.T) {
	w, owner, stranger := newWeb(t), cardtest.NewSigner(t, jose.ES256, "k1"), cardtest.NewSigner(t, jose.ES256, "k2")
	e := verifying(t, w, "", true)
	w.serveCard(owner.Signed(t, naming(w.URL+"/a2a")))
	w.serveKeys(cardtest.Set(t, owner))
	e.require("Ready", w.URL+"/a2a")
	w.serveCard(stranger.Signed(t, naming(w.URL+"/evil")))
	w.serveKeys("")
	e.require(reasonCardKeyUnknown, "", "spec.verification.jwksURL")
}

// A jku in the card is not where keys are looked for.
func TestKeysOfTheCardAreNotFetched(t *testing.T) {
	w, evil, owner := newWeb(t), newWeb(t), cardtest.NewSigner(t, jose.ES256, "k1")
	stranger := cardtest.NewSigner(t, jose.ES256, "k2")
	evil.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the card's jku was followed") })
	card := naming(w.URL + "/a2a")
	e := verifying(t, w, "", true)
	w.serveKeys(cardtest.Set(t, owner))
	header := map[jose.HeaderKey]any{"jku": evil.URL + "/jwks.json"}
	w.serveCard(cardtest.With(t, card, stranger.Entry(t, card, header)))
	e.require(reasonCardKeyUnknown, "")
	w.serveCard(cardtest.With(t, card, owner.Entry(t, card, header)))
	e.require("Ready", w.URL+"/a2a")
}

// A Secret that has no public keys is the user's to mend, and says nothing about the card.
func TestUnusableCardKeys(t *testing.T) {
	w, owner := newWeb(t), cardtest.NewSigner(t, jose.ES256, "k1")
	e := verifying(t, w, "s3cr3t", false)
	for reason, spoil := range map[string]func(){
		"SecretInvalid":  func() {},
		"SecretNotFound": func() { e.ra.Spec.Verification.SecretRef.Name = "missing" },
	} {
		spoil()
		s := &v1alpha1.RemoteAgentStatus{}
		v, err := e.r.inspect(t.Context(), e.ra, s)
		if err != nil || v.problem == nil || v.problem.Reason != reason || v.retry || s.Endpoint != nil || strings.Contains(v.problem.Message, "s3cr3t") {
			t.Errorf("%+v, %v; want %s", v.problem, err, reason)
		}
		e.ra.Spec.Verification.SecretRef.Name = "finance-keys"
	}
	e.trust(owner.PEM(t))
	w.serveCard(owner.Signed(t, naming(w.URL+"/a2a")))
	e.require("Ready", w.URL+"/a2a")
}
