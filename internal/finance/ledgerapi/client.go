// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ledgerapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/delegation-dev/delegation-operator/internal/finance"
)

// Errors of a [Client], to be matched with errors.Is. After any other the posting may have been made.
var (
	// ErrNotSent says that the ledger can't have seen the request.
	ErrNotSent = errors.New("the ledger was not reached")
	// ErrRefused says that the ledger will not make this posting under this key.
	ErrRefused = errors.New("the ledger refused")
)

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 1 << 20

// Client posts to a ledger.
type Client struct {
	url   string
	token string
	http  *http.Client
}

// NewClient returns a client of the ledger at a base URL, such as http://127.0.0.1:8091; token is its bearer token and
// may be empty.
func NewClient(baseURL, token string) *Client {
	return &Client{url: strings.TrimSuffix(baseURL, "/") + Path, token: token, http: &http.Client{
		// A redirect would turn the POST into a GET.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// NewLocalClient returns a client of a ledger in the same process.
func NewLocalClient(ledger http.Handler) *Client {
	return &Client{url: "http://ledger.invalid" + Path, http: &http.Client{Transport: local{ledger}}}
}

// Post makes a posting, once for a key, and returns the ledger's id of it.
func (c *Client) Post(ctx context.Context, key string, posting finance.Posting) (string, error) {
	body, err := json.Marshal(posting)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrRefused, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(KeyHeader, key)
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if op := new(net.OpError); errors.As(err, &op) && op.Op == "dial" {
			return "", fmt.Errorf("%w: %w", ErrNotSent, err)
		}
		return "", fmt.Errorf("posting: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return "", fmt.Errorf("the ledger's answer: %w", err)
	}
	return read(resp.StatusCode, answer)
}

func read(status int, answer []byte) (string, error) {
	switch status {
	case http.StatusCreated:
		var posted Posted
		if err := json.Unmarshal(answer, &posted); err != nil || posted.ID == "" {
			return "", fmt.Errorf("the ledger's answer is not a posting: %.200q", answer)
		}
		return posted.ID, nil
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return "", fmt.Errorf("%w: %.200s", ErrRefused, strings.TrimSpace(string(answer)))
	}
	// Among them are those that a wrong token or address gives: setting it right lets the task go on.
	return "", fmt.Errorf("the ledger answered %d %s", status, http.StatusText(status))
}

// local hands a request to a handler without a network.
type local struct{ handler http.Handler }

// RoundTrip implements [http.RoundTripper].
func (l local) RoundTrip(req *http.Request) (*http.Response, error) {
	w := &recorder{header: make(http.Header), status: http.StatusOK}
	l.handler.ServeHTTP(w, req)
	return &http.Response{
		StatusCode: w.status, Header: w.header, Body: io.NopCloser(&w.body), Request: req,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(w.body.Len()),
	}, nil
}

type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements [http.ResponseWriter].
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader implements [http.ResponseWriter].
func (r *recorder) WriteHeader(status int) { r.status = status }

// Write implements [http.ResponseWriter].
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }
