// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package credential_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/credential"
)

const (
	clientID     = "operator:1"
	clientSecret = "s3cr3t+of/the=client"
)

// issuer is a token endpoint of RFC 6749, section 4.4. Tokens are numbered.
type issuer struct {
	*httptest.Server
	// post says that it takes the client secret in the request only, not in the header.
	post bool
	// expiresIn is the life of its tokens in seconds; 0 for none given.
	expiresIn int
	// answer takes the place of a token, where it is set.
	answer func(w http.ResponseWriter, r *http.Request)
	issued atomic.Int32
	mu     sync.Mutex
	scope  string
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{expiresIn: 3600}
	i.Server = httptest.NewServer(i)
	t.Cleanup(i.Close)
	return i
}

// ServeHTTP implements http.Handler.
func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if i.answer != nil {
		i.answer(w, r)
		return
	}
	if r.Method != http.MethodPost || r.FormValue("grant_type") != "client_credentials" {
		refuse(w, http.StatusBadRequest, "unsupported_grant_type")
		return
	}
	if !i.knows(r) {
		refuse(w, http.StatusUnauthorized, "invalid_client")
		return
	}
	i.mu.Lock()
	i.scope = r.FormValue("scope")
	i.mu.Unlock()
	body := map[string]any{"access_token": fmt.Sprintf("t-%d", i.issued.Add(1)), "token_type": "bearer"}
	if i.expiresIn != 0 {
		body["expires_in"] = i.expiresIn
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

// knows authenticates the client (RFC 6749, section 2.3.1): its id and secret are form-encoded in the header too.
func (i *issuer) knows(r *http.Request) bool {
	id, password := r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	if !i.post {
		rawID, rawPassword, _ := r.BasicAuth()
		id, _ = url.QueryUnescape(rawID)
		password, _ = url.QueryUnescape(rawPassword)
	}
	return id == clientID && password == clientSecret
}

// refuse answers as RFC 6749, section 5.2 says, and repeats the request in the description, as some servers do.
func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": code, "error_description": "client_secret=" + clientSecret})
}

// client is a RemoteAgent that gets its tokens from an issuer.
func (i *issuer) client(change func(*v1alpha1.OAuth2Authentication)) *v1alpha1.RemoteAgent {
	o := &v1alpha1.OAuth2Authentication{
		TokenURL: i.URL + "/token?key=s3cr3t-too", ClientID: clientID, ClientSecretRef: key("token"), ClientAuthentication: v1alpha1.ClientAuthenticationBasic,
	}
	if change != nil {
		change(o)
	}
	return agent(v1alpha1.Authentication{OAuth2: o})
}

// clocked returns a keeper with the client secret and a clock of its own.
func clocked(password string) (*credential.Keeper, *clocktesting.FakePassiveClock) {
	k, clock := keeper(holding(password)), clocktesting.NewFakePassiveClock(time.Now())
	k.Clock = clock
	return k, clock
}

func read(t *testing.T, k *credential.Keeper, ra *v1alpha1.RemoteAgent) credential.Credentials {
	t.Helper()
	creds, err := k.For(t.Context(), ra)
	if err != nil {
		t.Fatal(err)
	}
	return creds
}

func requireToken(t *testing.T, c credential.Credentials, want string) {
	t.Helper()
	if got := authorized(t, c).Get("Authorization"); got != "Bearer "+want {
		t.Fatalf("%q, want token %s", got, want)
	}
}

// awaitToken waits for a token that is got next to the one in use.
func awaitToken(t *testing.T, c credential.Credentials, want string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); authorized(t, c).Get("Authorization") != "Bearer "+want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited 20 s in vain for token %s", want)
		}
	}
}
