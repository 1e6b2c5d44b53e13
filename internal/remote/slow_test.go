// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// dripping returns an agent that answers with the text and then one byte more at a time, without an end.
func dripping(text string) func(*testing.T) *agent {
	return speaking(func(a *agent, conn *net.TCPConn, in *bufio.Reader) {
		a.read(in)
		_, err := io.WriteString(conn, text)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for ; err == nil; _, err = io.WriteString(conn, " ") {
			<-tick.C
		}
	})
}

const (
	slowHead = "HTTP/1.1 200 OK\r\nX-Slow:"
	slowBody = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{"
)

// An agent that sends its answer byte by byte takes no longer than the caller gives it: bytes that come buy no time.
func TestSlowAnswers(t *testing.T) {
	const limit = 200 * time.Millisecond
	for _, c := range []struct {
		name, text string
		adapt      func(*remote.Config)
		outcome    outbox.Outcome
	}{
		{"headers byte by byte", slowHead, nothing, outbox.Ambiguous},
		{"a body byte by byte", slowBody, nothing, outbox.Ambiguous},
		{"a TLS handshake byte by byte", "\x16\x03\x03\x40\x00", func(c *remote.Config) { c.Interface.URL = "https" + strings.TrimPrefix(c.Interface.URL, "http") }, outbox.NotSent},
	} {
		for call, do := range map[string]func(context.Context, *remote.Client) outbox.Exchange{
			"SendMessage":     func(ctx context.Context, r *remote.Client) outbox.Exchange { return r.Send(ctx, token(t), message()) },
			"GetTask":         func(ctx context.Context, r *remote.Client) outbox.Exchange { return r.Get(ctx, "t-1") },
			"SubscribeToTask": func(ctx context.Context, r *remote.Client) outbox.Exchange { return r.Subscribe(ctx, "t-1", func() {}) },
		} {
			t.Run(c.name+"/"+call, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				began := time.Now()
				ex := do(ctx, connect(t, dripping(c.text)(t), c.adapt))
				if took := time.Since(began); took > patience {
					t.Errorf("it took %s", took)
				}
				if ex.Outcome != c.outcome || ex.Reason != remote.ReasonTimeout && ex.Reason != remote.ReasonCanceled {
					t.Errorf("%s %q %s", ex.Outcome, ex.Reason, ex.Detail)
				}
			})
		}
	}
}

// A stream's headers have to come within the time in which a stream has to show life, however many bytes of them come.
func TestSlowStreamHeaders(t *testing.T) {
	c := connect(t, dripping(slowHead)(t), func(c *remote.Config) { c.Limits.StreamIdle = 200 * time.Millisecond })
	if ex := c.Subscribe(t.Context(), "t-1", func() {}); ex.Outcome != outbox.Ambiguous || ex.Reason != remote.ReasonTimeout {
		t.Errorf("%s %q", ex.Outcome, ex.Reason)
	}
}

func TestSlowCards(t *testing.T) {
	for name, text := range map[string]string{"headers byte by byte": slowHead, "a body byte by byte": slowBody} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			_, err := remote.FetchCard(ctx, remote.Network{}, dripping(text)(t).url)
			if !isErr(t, err, remote.ErrCardUnavailable) || !isErr(t, err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
		})
	}
}

// Of a card no more than a limit is held, however it is packed, and of its headers no more than another.
func TestEndlessCards(t *testing.T) {
	for _, c := range []struct {
		name  string
		serve http.HandlerFunc
		want  error
	}{
		{"compressed", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, strings.TrimSuffix(goodCard, "}"))
			endless(z)
		}, remote.ErrCardInvalid},
		{"plain", func(w http.ResponseWriter, _ *http.Request) { endless(w) }, remote.ErrCardInvalid},
		{"headers", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Long", strings.Repeat("x", 300<<10)) }, remote.ErrCardUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := httptest.NewServer(c.serve)
			defer s.Close()
			peak := watchHeap(t)
			_, err := remote.FetchCard(t.Context(), remote.Network{}, s.URL)
			if took := peak(); took > 16<<20 {
				t.Errorf("the heap grew by %d MiB", took>>20)
			}
			if !isErr(t, err, c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// endless writes until nobody reads any more, or 256 MiB.
func endless(w io.Writer) {
	block := []byte(strings.Repeat(" ", 1<<20))
	for range 256 {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}
