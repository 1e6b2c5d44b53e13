// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proxy

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// mode is at what point of a call the proxy is killed.
type mode string

const (
	// before: the call has not come to the other side, and never does.
	before mode = "before"
	// late: the call comes to the other side a while after its sender is gone.
	late mode = "late"
	// lost: the other side has done it, and its answer has not come back.
	lost mode = "answer lost"
	// after: the answer is on its way back.
	after mode = "after"
)

// lateBy is how long a late call is on its way: less than the settle time, which is there for such calls.
const lateBy = settle / 3

// trap kills at one of the calls that pass, and does nothing until it is set.
type trap struct {
	mu     sync.Mutex
	at     int
	mode   mode
	kill   func()
	passed int
	sprung bool
}

// set arms the trap for the n-th call from now on.
func (t *trap) set(n int, m mode, kill func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at, t.mode, t.kill, t.passed, t.sprung = n, m, kill, 0, false
}

// pass counts a call, and returns how it is to be killed; "" where it is to be left alone.
func (t *trap) pass() mode {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.passed++
	if t.kill == nil || t.sprung || t.passed != t.at {
		return ""
	}
	t.sprung = true
	return t.mode
}

func (t *trap) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.passed
}

func (t *trap) hasSprung() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sprung
}

// agentRelay stands between a proxy and its agent. Its calls are the sends.
type agentRelay struct {
	*httptest.Server
	trap
	through *httputil.ReverseProxy
}

func startAgentRelay(t *testing.T, agentURL string) *agentRelay {
	t.Helper()
	base, err := url.Parse(agentURL)
	if err != nil {
		t.Fatal(err)
	}
	r := &agentRelay{through: &httputil.ReverseProxy{
		// A message on its way arrives, whatever became of its sender; and the card names the relay.
		Rewrite:      func(pr *httputil.ProxyRequest) { pr.SetURL(base); pr.Out.Host = pr.In.Host },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(func() {
		r.CloseClientConnections()
		r.Close()
	})
	return r
}

// ServeHTTP implements http.Handler.
func (r *agentRelay) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	body, err := io.ReadAll(in.Body)
	if err != nil {
		return // the proxy was killed
	}
	in.Body = io.NopCloser(bytes.NewReader(body))
	if !bytes.Contains(body, []byte(`"message"`)) {
		r.through.ServeHTTP(w, in)
		return
	}
	switch r.pass() {
	case before:
		r.kill()
		panic(http.ErrAbortHandler)
	case late:
		r.kill()
		time.Sleep(lateBy)
		r.through.ServeHTTP(httptest.NewRecorder(), detached(in))
		panic(http.ErrAbortHandler)
	case lost:
		r.through.ServeHTTP(httptest.NewRecorder(), detached(in))
		r.kill()
		panic(http.ErrAbortHandler)
	case after:
		r.through.ServeHTTP(w, in)
		_ = http.NewResponseController(w).Flush()
		r.kill()
	default:
		r.through.ServeHTTP(w, in)
	}
}

// detached is a request that goes on without its sender.
func detached(in *http.Request) *http.Request {
	return in.WithContext(context.WithoutCancel(in.Context()))
}

// tableRelay stands between a proxy and PostgreSQL. Its calls are the round trips of the extended protocol, each of which
// the client ends with a Sync (PostgreSQL, Frontend/Backend Protocol, section 55.2.3).
type tableRelay struct {
	trap
	socket string
}

const socketName = ".s.PGSQL.5432"

// startTableRelay returns the relay and the URL by which a database is reached through it.
func startTableRelay(t *testing.T, databaseURL string) (*tableRelay, string) {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "relay") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	r := &tableRelay{socket: filepath.Join(u.Query().Get("host"), socketName)}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(dir, socketName))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = listener.Close()
		_ = os.RemoveAll(dir)
	})
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go r.serve(client)
		}
	}()
	query := u.Query()
	query.Set("host", dir)
	u.RawQuery = query.Encode()
	return r, u.String()
}

// serve relays one connection, frame by frame on the way there. Frames are held back until a Sync ends their call.
func (r *tableRelay) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	table, err := net.Dial("unix", r.socket)
	if err != nil {
		return
	}
	defer func() { _ = table.Close() }()
	answers := &valve{to: client}
	go func() { _, _ = io.Copy(answers, table); _ = client.Close() }()
	if _, err := relayStartup(client, table); err != nil {
		return
	}
	var call []byte
	for {
		kind, frame, err := readFrame(client, true)
		if err != nil {
			return
		}
		call = append(call, frame...)
		if kind != 'S' {
			if kind == 'X' || kind == 'p' || kind == 'Q' {
				_, _ = table.Write(call)
				call = nil
			}
			continue
		}
		switch r.pass() {
		case before:
			r.kill()
			return
		case lost:
			answers.shut()
			_, _ = table.Write(call)
			answers.awaitAnswer()
			r.kill()
			return
		}
		if _, err := table.Write(call); err != nil {
			return
		}
		call = nil
	}
}

// relayStartup passes on the packets without a type.
func relayStartup(client io.Reader, table io.Writer) (int, error) {
	_, packet, err := readFrame(client, false)
	if err != nil {
		return 0, err
	}
	return table.Write(packet)
}

func readFrame(from io.Reader, typed bool) (kind byte, frame []byte, err error) {
	head := make([]byte, 4)
	if typed {
		head = make([]byte, 5)
	}
	if _, err := io.ReadFull(from, head); err != nil {
		return 0, nil, err
	}
	length := binary.BigEndian.Uint32(head[len(head)-4:])
	if length < 4 || length > 64<<20 {
		return 0, nil, errors.New("not a frame")
	}
	body := make([]byte, length-4)
	_, err = io.ReadFull(from, body)
	return head[0], append(head, body...), err
}

// valve passes answers on until it is shut; then it only tells that one came.
type valve struct {
	to     io.Writer
	mu     sync.Mutex
	answer chan struct{}
	once   sync.Once
}

// Write implements io.Writer.
func (v *valve) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.answer == nil {
		return v.to.Write(p)
	}
	// ReadyForQuery ends the answer to a call: the transaction is committed.
	if strings.Contains(string(p), "Z\x00\x00\x00\x05") {
		v.once.Do(func() { close(v.answer) })
	}
	return len(p), nil
}

func (v *valve) shut() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.answer = make(chan struct{})
}

func (v *valve) awaitAnswer() {
	select {
	case <-v.answer:
	case <-time.After(10 * time.Second):
	}
}
