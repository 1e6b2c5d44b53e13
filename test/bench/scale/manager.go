// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/delegation-dev/delegation-operator/test/bench/lab"
)

// operator is the manager's process and the way to its profiles.
type operator struct {
	*lab.Process
	profiles string
	started  time.Time
}

func (b *bench) start(ctx context.Context) (*operator, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	o := &operator{profiles: "http://" + address + "/debug/pprof/", started: time.Now()}
	o.Process, err = lab.StartManager(ctx, b.config, b.dir, "--pprof-bind-address", address)
	return o, err
}

func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// memory is what the manager holds.
type memory struct {
	// live is the heap after a collection, rss what the kernel counts, peak the most that it has counted.
	live, rss, peak int64
}

func (o *operator) memory(ctx context.Context) (memory, error) {
	// Two collections: the first runs finalizers, and what they free goes with the second.
	if _, err := o.profile(ctx, "heap?gc=1"); err != nil {
		return memory{}, err
	}
	text, err := o.profile(ctx, "heap?gc=1&debug=1")
	if err != nil {
		return memory{}, err
	}
	m := memory{live: -1}
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		if rest, found := strings.CutPrefix(s.Text(), "# HeapAlloc = "); found {
			if _, err := fmt.Sscan(rest, &m.live); err != nil {
				return memory{}, err
			}
		}
	}
	if m.live < 0 {
		return memory{}, fmt.Errorf("the heap profile has no HeapAlloc")
	}
	used, err := o.Used()
	if err != nil {
		return memory{}, err
	}
	m.rss, m.peak = used.Memory, used.Peak
	return m, nil
}

// profile reads one of the manager's profiles.
func (o *operator) profile(ctx context.Context, name string) ([]byte, error) {
	return read(ctx, o.profiles+name)
}

func read(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, resp.Status)
	}
	return io.ReadAll(resp.Body)
}

// writes is how many writes the API server has taken of what the manager writes: its own kinds, Events and ConfigMaps.
func (b *bench) writes(ctx context.Context) (int, error) {
	c, err := kubernetes.NewForConfig(b.config)
	if err != nil {
		return 0, err
	}
	text, err := c.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, err
	}
	total := 0
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		labels, found := strings.CutPrefix(s.Text(), "apiserver_request_total{")
		labels, value, cut := strings.Cut(labels, "} ")
		if !found || !cut || !written(labels) {
			continue
		}
		var n float64
		if _, err := fmt.Sscan(value, &n); err != nil {
			return 0, err
		}
		total += int(n)
	}
	return total, nil
}

func written(labels string) bool {
	has := func(values ...string) bool {
		for _, v := range values {
			if strings.Contains(labels, v) {
				return true
			}
		}
		return false
	}
	return has(`group="a2a.delegation.dev"`, `group="events.k8s.io"`, `resource="configmaps"`) &&
		has(`verb="POST"`, `verb="PUT"`, `verb="PATCH"`, `verb="DELETE"`, `verb="APPLY"`)
}
