// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package credential_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/credential"
)

func TestOAuth2(t *testing.T) {
	for _, post := range []bool{false, true} {
		i := newIssuer(t)
		i.post = post
		ra := i.client(func(o *v1alpha1.OAuth2Authentication) {
			o.Scopes = []string{"a2a.send", "a2a.read"}
			if post {
				o.ClientAuthentication = v1alpha1.ClientAuthenticationPost
			}
		})
		k, _ := clocked(clientSecret + "\n")
		requireToken(t, read(t, k, ra), "t-1")
		i.mu.Lock()
		if i.scope != "a2a.send a2a.read" {
			t.Errorf("scope %q", i.scope)
		}
		i.mu.Unlock()
	}
}

// One token serves all requests and readings until four fifths of its life are over. The next is got while it is in use.
func TestATokenIsKeptAndRenewed(t *testing.T) {
	i := newIssuer(t)
	i.expiresIn = 1000
	k, clock := clocked(clientSecret)
	creds := read(t, k, i.client(nil))
	requireToken(t, creds, "t-1")
	clock.SetTime(clock.Now().Add(790 * time.Second))
	requireToken(t, read(t, k, i.client(nil)), "t-1")
	clock.SetTime(clock.Now().Add(20 * time.Second))
	requireToken(t, creds, "t-1") // and asks for the next
	awaitToken(t, creds, "t-2")
	clock.SetTime(clock.Now().Add(995 * time.Second))
	requireToken(t, creds, "t-3") // the last seconds are not used
	k.Forget("uid-1")
	requireToken(t, read(t, k, i.client(nil)), "t-4")
	if n := i.issued.Load(); n != 4 {
		t.Errorf("%d tokens were issued, want 4", n)
	}
}

func TestATokenWithoutEnd(t *testing.T) {
	i := newIssuer(t)
	i.expiresIn = 0
	k, clock := clocked(clientSecret)
	creds := read(t, k, i.client(nil))
	requireToken(t, creds, "t-1")
	clock.SetTime(clock.Now().Add(1000 * time.Hour))
	requireToken(t, creds, "t-1")
}

// Whatever the token is asked for with makes other tokens when it changes.
func TestAChangeGetsAnotherToken(t *testing.T) {
	i := newIssuer(t)
	k, _ := clocked(clientSecret)
	requireToken(t, read(t, k, i.client(nil)), "t-1")
	requireToken(t, read(t, k, i.client(func(o *v1alpha1.OAuth2Authentication) { o.Scopes = []string{"more"} })), "t-2")
	k.Live = keeper(holding("another")).Live
	if err := read(t, k, i.client(nil)).Authorize(request(t)); !errors.Is(err, credential.ErrTokenEndpoint) {
		t.Errorf("with another secret: %v; want %v", err, credential.ErrTokenEndpoint)
	}
}

// Requests that find no token share one request for it.
func TestManyWaitForOneToken(t *testing.T) {
	i := newIssuer(t)
	release := make(chan struct{})
	asked := make(chan struct{}, 8)
	i.answer = func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		<-release
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"access_token":"t","token_type":"Bearer"}`)
	}
	k, _ := clocked(clientSecret)
	creds := read(t, k, i.client(nil))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := creds.Authorize(request(t)); err != nil {
				t.Error(err)
			}
		})
	}
	<-asked
	// One that gives up takes the token from nobody.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := creds.Authorize(request(t).WithContext(ctx)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v; want %v", err, context.Canceled)
	}
	close(release)
	all.Wait()
	if len(asked) != 0 {
		t.Errorf("the token was asked for %d times more than once", len(asked))
	}
}

// A token that is not accepted is replaced once for all who had it, and not again and again.
func TestARejectedTokenIsRenewed(t *testing.T) {
	i := newIssuer(t)
	k, clock := clocked(clientSecret)
	creds := read(t, k, i.client(nil))
	with := func(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }
	requireToken(t, creds, "t-1")
	for range 2 { // the second had the same token
		if !creds.Renew(with("t-1")) {
			t.Fatal("no other token")
		}
		requireToken(t, creds, "t-2")
	}
	if creds.Renew(with("t-2")) {
		t.Error("a token was replaced that had just been got for one that was not accepted")
	}
	clock.SetTime(clock.Now().Add(time.Minute))
	if !creds.Renew(with("t-2")) {
		t.Error("no other token later")
	}
	requireToken(t, creds, "t-3")
	if creds.Renew(http.Header{}) {
		t.Error("a request without a token has another one")
	}
}

// Nothing of what an endpoint says gets into an error but its status and a code of the specification, and no error leads to
// more. After a failure the endpoint is left alone for a while, and then asked again.
func TestTokenEndpointFailures(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s to another place", r.Method) }))
	defer elsewhere.Close()
	says := func(contentType, body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = fmt.Fprint(w, body)
		}
	}
	cases := []struct {
		name   string
		answer func(http.ResponseWriter, *http.Request)
		named  []string
	}{
		{"wrong secret", func(w http.ResponseWriter, _ *http.Request) { refuse(w, 401, "invalid_client") }, []string{"HTTP 401, invalid_client", "key token of Secret finance-token"}},
		{"wrong scope", func(w http.ResponseWriter, _ *http.Request) { refuse(w, 400, "invalid_scope") }, []string{"HTTP 400, invalid_scope"}},
		{"a code that is not the specification's", func(w http.ResponseWriter, _ *http.Request) { refuse(w, 400, clientSecret) }, []string{"HTTP 400: "}},
		{"an error under 200", func(w http.ResponseWriter, _ *http.Request) { refuse(w, 200, "invalid_client") }, []string{"invalid_client"}},
		{"away", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, clientSecret, http.StatusServiceUnavailable)
		}, []string{"HTTP 503"}},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, []string{"HTTP 307", "tokenURL"}},
		{"no JSON", says("application/json", clientSecret), []string{"RFC 6749"}},
		{"no token", says("application/json", `{"token_type":"Bearer"}`), []string{"RFC 6749"}},
		{"another type", says("application/json", `{"access_token":"t","token_type":"`+clientSecret+`"}`), []string{"another type"}},
		{"a token with a line break", says("application/json", `{"access_token":"t\r\nX-Admin: true","token_type":"Bearer"}`), []string{"no header can carry"}},
		{"the connection lost", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, []string{"RFC 6749"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			i := newIssuer(t)
			var asked atomic.Int32
			i.answer = func(w http.ResponseWriter, r *http.Request) { asked.Add(1); c.answer(w, r) }
			k, clock := clocked(clientSecret)
			creds := read(t, k, i.client(nil))
			err := creds.Authorize(request(t))
			requireQuiet(t, err, append(c.named, i.URL+"/token:"))
			if again := creds.Authorize(request(t)); !errors.Is(again, credential.ErrTokenEndpoint) || asked.Load() != 1 {
				t.Errorf("at once again: %v, and the endpoint was asked %d times", again, asked.Load())
			}
			clock.SetTime(clock.Now().Add(2 * time.Second))
			i.answer = nil
			requireToken(t, creds, "t-1")
		})
	}
}

// requireQuiet requires the error of a token endpoint that says what it should, and no secret, neither itself nor in what it
// wraps.
func requireQuiet(t *testing.T, err error, named []string) {
	t.Helper()
	if !errors.Is(err, credential.ErrTokenEndpoint) {
		t.Fatalf("%v; want %v", err, credential.ErrTokenEndpoint)
	}
	for _, name := range named {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q does not say %s", err, name)
		}
	}
	for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
		if strings.Contains(text, "s3cr3t") || strings.Contains(text, "of%2Fthe") {
			t.Errorf("the secret is shown: %s", text)
		}
	}
}

// A dialler that refuses is told, and keeps its identity.
func TestTokenEndpointIsDialled(t *testing.T) {
	denied := errors.New("denied by policy")
	i := newIssuer(t)
	k, _ := clocked(clientSecret)
	k.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, denied }
	err := read(t, k, i.client(nil)).Authorize(request(t))
	requireQuiet(t, err, []string{denied.Error()})
	if !errors.Is(err, denied) {
		t.Errorf("%v does not wrap %v", err, denied)
	}
}

// While an issuer is away the token that is still good is used.
func TestAnIssuerAwayKeepsNobodyWaiting(t *testing.T) {
	i := newIssuer(t)
	i.expiresIn = 1000
	k, clock := clocked(clientSecret)
	creds := read(t, k, i.client(nil))
	requireToken(t, creds, "t-1")
	i.Close()
	clock.SetTime(clock.Now().Add(900 * time.Second))
	for range 3 {
		requireToken(t, creds, "t-1")
	}
	clock.SetTime(clock.Now().Add(99 * time.Second))
	requireQuiet(t, creds.Authorize(request(t)), []string{"no connection"})
}

// proxyTest is set for the process that has a proxy in its environment: a process reads that once.
const proxyTest = "CREDENTIAL_TEST_OF_PROXY"

// Variables that name a proxy change nothing: it would be sent the client secret, and the policy asked about it in place of the
// token endpoint.
func TestNoProxyIsUsedForTokens(t *testing.T) {
	if os.Getenv(proxyTest) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNoProxyIsUsedForTokens$", "-test.v")
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
			cmd.Env = append(cmd.Env, name+"=http://proxy.example.com:3128")
		}
		cmd.Env = append(cmd.Env, proxyTest+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestNoProxyIsUsedForTokens") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if u, err := http.ProxyFromEnvironment(request(t)); err != nil || u == nil {
		t.Fatalf("the variables name the proxy %v, %v", u, err)
	}
	for _, url := range []string{"http://login.example.com:80", "https://login.example.com:443"} {
		dialed := ""
		k, _ := clocked(clientSecret)
		k.DialContext = func(_ context.Context, _, address string) (net.Conn, error) {
			dialed = address
			return nil, errors.New("not connected")
		}
		creds := read(t, k, (&issuer{Server: &httptest.Server{}}).client(func(o *v1alpha1.OAuth2Authentication) { o.TokenURL = url + "/token" }))
		_ = creds.Authorize(request(t))
		if _, want, _ := strings.Cut(url, "://"); dialed != want {
			t.Errorf("%s: dialed %q", url, dialed)
		}
	}
}
