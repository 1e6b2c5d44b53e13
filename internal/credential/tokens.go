// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	bearerPrefix = "Bearer "
	// fetchTimeout bounds one request for a token.
	fetchTimeout = 10 * time.Second
	// expiryLeeway is how long before its end a token is not used any more: it takes time to arrive, and clocks differ.
	expiryLeeway = 10 * time.Second
	// After a failure no token is asked for during firstFetchRetry, then twice as long each time.
	firstFetchRetry = time.Second
	maxFetchRetry   = time.Minute
	// renewPause is how often a token is replaced because it was answered 401: an agent that accepts none must not make the
	// operator a burden to the issuer.
	renewPause = 10 * time.Second
)

// token is one that was issued.
type token struct {
	value string
	// issued and expires bound its life; a zero expires means that no end is known.
	issued, expires time.Time
}

func (t token) valid(now time.Time) bool {
	return t.value != "" && (t.expires.IsZero() || now.Before(t.expires.Add(-min(expiryLeeway, t.life()/2))))
}

// fresh reports whether a token is not to be replaced yet. The last fifth of its life is for that, as the kubelet has it.
func (t token) fresh(now time.Time) bool {
	return t.valid(now) && (t.expires.IsZero() || now.Before(t.issued.Add(t.life()*4/5)))
}

func (t token) life() time.Duration { return t.expires.Sub(t.issued) }

// tokens keep the newest token of one issuer. At most one request for a token is out, whatever the number of those who wait
// for it, and it goes on when they give up.
type tokens struct {
	clock clock.PassiveClock
	fetch func(context.Context) (token, error)
	// checked says that Check asks the issuer.
	checked bool

	mu   sync.Mutex
	held token
	out  *fetching
	// failed is what the last request ended with, in a row of failures; no other goes out before retry.
	failed   error
	failures int
	retry    time.Time
	// renewed is when a token was last dropped because an agent did not accept it.
	renewed time.Time
}

// fetching is a request for a token that is out. value and err are there once done is closed.
type fetching struct {
	done  chan struct{}
	value string
	err   error
}

// authorize implements Credentials.Authorize.
func (t *tokens) authorize(req *http.Request) error {
	value, err := t.get(req.Context())
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", bearerPrefix+value)
	return nil
}

// renew implements Credentials.Renew. A request that went out with an older token than the one that is held has others now.
func (t *tokens) renew(rejected http.Header) bool {
	value, ok := strings.CutPrefix(rejected.Get("Authorization"), bearerPrefix)
	if !ok {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if value != t.held.value {
		return true
	}
	now := t.clock.Now()
	if !t.renewed.IsZero() && now.Before(t.renewed.Add(renewPause)) {
		return false
	}
	t.held, t.renewed = token{}, now
	return true
}

// get returns a token. One that is to be replaced and is still good is handed out while the new one is on its way, so that
// an issuer that is away for a while keeps nobody waiting.
func (t *tokens) get(ctx context.Context) (string, error) {
	t.mu.Lock()
	now := t.clock.Now()
	held, waiting := t.held, t.failed != nil && now.Before(t.retry)
	var f *fetching
	if !held.fresh(now) && !waiting {
		f = t.start()
	}
	failed := t.failed
	t.mu.Unlock()
	switch {
	case held.valid(now):
		return held.value, nil
	case f == nil:
		return "", failed
	}
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		return "", fmt.Errorf("waiting for a token: %w", ctx.Err())
	}
}

// start asks for a token unless that is under way. The token is for all, so that the request does not end with the first who
// wanted it.
func (t *tokens) start() *fetching {
	if t.out != nil {
		return t.out
	}
	f := &fetching{done: make(chan struct{})}
	t.out = f
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
		defer cancel()
		got, err := t.fetch(ctx)
		t.finish(f, got, err)
	}()
	return f
}

func (t *tokens) finish(f *fetching, got token, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer close(f.done)
	now := t.clock.Now()
	if err == nil && !got.valid(now) {
		err = errors.New("the token that was issued has expired already: compare the clocks")
	}
	t.out, f.value, f.err = nil, got.value, err
	if err != nil {
		f.value = ""
		t.failed, t.retry = err, now.Add(min(firstFetchRetry<<t.failures, maxFetchRetry))
		t.failures = min(t.failures+1, 16)
		return
	}
	t.held, t.failed, t.failures = got, nil, 0
}
