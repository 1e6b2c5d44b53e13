// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ledgerapi

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/finance"
)

func posting(about string, amount finance.Cents) finance.Posting {
	return finance.Posting{
		Kind: finance.PostFee, Table: finance.TableBank, About: about, Period: "2026-09", Account: finance.DefaultFeeAccount,
		Date: time.Date(2026, 9, 30, 0, 0, 0, 0, time.UTC), Description: "Fee", Amount: amount,
	}
}

func open(t *testing.T, path string) Store {
	t.Helper()
	store, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// onEachClient runs a test over a network and without one.
func onEachClient(t *testing.T, test func(t *testing.T, c *Client, store Store)) {
	t.Run("network", func(t *testing.T) {
		store := open(t, filepath.Join(t.TempDir(), "ledger.db"))
		server := httptest.NewServer(Handler(store))
		t.Cleanup(server.Close)
		test(t, NewClient(server.URL+"/", ""), store)
	})
	t.Run("local", func(t *testing.T) {
		store := NewMemory()
		test(t, NewLocalClient(Handler(store)), store)
	})
}

func TestOnePostingForAKey(t *testing.T) {
	onEachClient(t, func(t *testing.T, c *Client, store Store) {
		const copies = 20
		var group sync.WaitGroup
		ids := make([]string, copies)
		for i := range copies {
			group.Go(func() {
				var err error
				if ids[i], err = c.Post(t.Context(), "a2a:t-5a:step:5", posting("B-1", -5)); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		for _, id := range ids {
			if id != ids[0] || id == "" {
				t.Fatalf("ids %q", ids)
			}
		}
		other, err := c.Post(t.Context(), "a2a:t-5a:step:6", posting("B-1", -5))
		if err != nil || other == ids[0] {
			t.Errorf("another key: %q, %v", other, err)
		}
		if _, err := c.Post(t.Context(), "a2a:t-5a:step:5", posting("B-1", -6)); !errors.Is(err, ErrRefused) {
			t.Errorf("another body: %v", err)
		}
		all, err := store.List(t.Context(), "")
		if err != nil || len(all) != 2 || all[0].Received != copies || all[0].Posting != posting("B-1", -5) || all[1].Received != 1 {
			t.Errorf("ledger %+v, %v", all, err)
		}
		if some, err := store.List(t.Context(), "a2a:t-5a:step:6"); err != nil || len(some) != 1 || some[0].ID != other {
			t.Errorf("one key: %+v, %v", some, err)
		}
	})
}

func TestAnswers(t *testing.T) {
	for name, store := range map[string]Store{"memory": NewMemory(), "file": open(t, filepath.Join(t.TempDir(), "ledger.db"))} {
		t.Run(name, func(t *testing.T) { testAnswers(t, Handler(store)) })
	}
}

func testAnswers(t *testing.T, handler http.Handler) {
	body := `{"kind":"bank fee","table":"bank","about":"B-1","period":"2026-09","date":"2026-09-30T00:00:00Z","account":"6855","description":"Fee","amountCents":-5}`
	for _, test := range []struct {
		name, key, body string
		status          int
		want            string // in the answer
		replayed        string
	}{
		{"first", "k1", body, http.StatusCreated, `"id":"P-1"`, ""},
		{"again", "k1", body, http.StatusCreated, `"id":"P-1"`, "true"},
		{"again, written otherwise", "k1", strings.ReplaceAll(body, `,"`, ` , "`), http.StatusCreated, `"id":"P-1"`, "true"},
		{"another posting", "k1", strings.Replace(body, "-5", "-6", 1), http.StatusUnprocessableEntity, "another key", ""},
		{"no key", "", body, http.StatusBadRequest, KeyHeader, ""},
		{"long key", strings.Repeat("k", maxKey+1), body, http.StatusBadRequest, KeyHeader, ""},
		{"not JSON", "k2", "x", http.StatusBadRequest, "not a posting", ""},
		{"unknown member", "k2", `{"amount":"5"}`, http.StatusBadRequest, "amount", ""},
		{"no amount", "k2", strings.Replace(body, "-5", "0", 1), http.StatusUnprocessableEntity, "amountCents", ""},
		{"no account", "k2", strings.Replace(body, "6855", "", 1), http.StatusUnprocessableEntity, "account", ""},
		{"no date", "k2", strings.Replace(body, "2026-09-30", "0001-01-01", 1), http.StatusUnprocessableEntity, "date", ""},
		{"what was refused can be set right", "k2", body, http.StatusCreated, `"id":"P-2"`, ""},
	} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, Path, strings.NewReader(test.body))
		if test.key != "" {
			req.Header.Set(KeyHeader, test.key)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.want) || w.Header().Get(ReplayedHeader) != test.replayed {
			t.Errorf("%s: %d %q %s, want %d, %q, %s", test.name, w.Code, w.Header().Get(ReplayedHeader), w.Body, test.status, test.replayed, test.want)
		}
	}
}

// A ledger is kept with its keys.
func TestFileKeeps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	first, replayed, err := open(t, path).Post(t.Context(), "k", posting("B-1", -5))
	if err != nil || replayed {
		t.Fatal(replayed, err)
	}
	again, replayed, err := open(t, path).Post(t.Context(), "k", posting("B-1", -5))
	if err != nil || !replayed || again.ID != first.ID || !again.Created.Equal(first.Created) || again.Received != 2 {
		t.Errorf("again %+v, %v, %v; first %+v", again, replayed, err, first)
	}
}

// What a client makes of an answer decides whether a task goes on, tries again, or fails.
func TestClientErrors(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		body   string
		want   error // nil where the posting may have been made
	}{
		"not a posting": {http.StatusCreated, "{}", nil},
		"another 2xx":   {http.StatusOK, `{"id":"P-1"}`, nil},
		"redirect":      {http.StatusFound, "", nil},
		"malformed":     {http.StatusBadRequest, "why", ErrRefused},
		"unauthorized":  {http.StatusUnauthorized, "", nil},
		"wrong path":    {http.StatusNotFound, "", nil},
		"conflict":      {http.StatusConflict, "", nil},
		"other posting": {http.StatusUnprocessableEntity, "why", ErrRefused},
		"too many":      {http.StatusTooManyRequests, "", nil},
		"broken":        {http.StatusBadGateway, "", nil},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(test.status)
			_, _ = w.Write([]byte(test.body))
		}))
		id, err := NewClient(server.URL, "").Post(t.Context(), "k", posting("B-1", -5))
		server.Close()
		if id != "" || err == nil || errors.Is(err, ErrRefused) != (test.want != nil) || errors.Is(err, ErrNotSent) {
			t.Errorf("%s: %q, %v", name, id, err)
		}
	}
}

func TestNotSent(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	if _, err := NewClient("http://"+listener.Addr().String(), "").Post(t.Context(), "k", posting("B-1", -5)); !errors.Is(err, ErrNotSent) {
		t.Errorf("refused connection: %v", err)
	}
	sent := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the server doesn't notice that the client has gone
		close(sent)
		<-r.Context().Done()
	}))
	t.Cleanup(hangs.Close)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-sent; cancel() }()
	if _, err := NewClient(hangs.URL, "").Post(ctx, "k", posting("B-1", -5)); err == nil || errors.Is(err, ErrNotSent) {
		t.Errorf("given up after it was sent: %v", err)
	}
}

func TestToken(t *testing.T) {
	got := ""
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("Authorization") }))
	t.Cleanup(server.Close)
	_, _ = NewClient(server.URL, "s3cret").Post(t.Context(), "k", posting("B-1", -5))
	if got != "Bearer s3cret" {
		t.Errorf("authorization %q", got)
	}
}
