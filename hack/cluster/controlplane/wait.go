// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

const (
	pollInterval     = 100 * time.Millisecond
	reminderInterval = 10 * time.Second
	requestTimeout   = 5 * time.Second
	logTailLines     = 20
)

// sleep returns false when the context ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// wait polls until the endpoint answers 200, and gives up when the context
// ends or one of the processes does.
func (o Options) wait(ctx context.Context, what string, processes []*process, e endpoint) error {
	client, err := o.httpClient(e)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	o.printf("waiting for %s", what)
	started, reminded := time.Now(), time.Now()
	for {
		probeErr := probe(ctx, client, e.url)
		if probeErr == nil {
			return nil
		}
		for _, p := range processes {
			if !p.alive() {
				return o.explain(p.name, fmt.Errorf("%s ended while waiting for %s", p.name, what))
			}
		}
		if time.Since(reminded) > reminderInterval {
			reminded = time.Now()
			o.printf("still waiting for %s after %ds: %v", what, int(time.Since(started).Seconds()), probeErr)
		}
		if !sleep(ctx, pollInterval) {
			if errors.Is(ctx.Err(), context.Canceled) {
				return fmt.Errorf("gave up waiting for %s: %w", what, context.Cause(ctx))
			}
			last := processes[len(processes)-1].name
			return o.explain(last, fmt.Errorf("waiting for %s: %w; last answer: %w", what, context.Cause(ctx), probeErr))
		}
	}
}

// endpoint is a URL and the certificates to ask it with.
type endpoint struct {
	url, ca, client string
}

func etcdHealth(p ports) endpoint {
	return endpoint{p.etcdURL() + "/health", etcdCA, apiserverEtcdClient}
}

func apiServerReady(p ports) endpoint {
	return endpoint{p.apiServerURL() + "/readyz", clusterCA, adminClient}
}

func defaultServiceAccount(p ports) endpoint {
	return endpoint{p.apiServerURL() + "/api/v1/namespaces/default/serviceaccounts/default", clusterCA, adminClient}
}

func (o Options) httpClient(e endpoint) (*http.Client, error) {
	ca, err := os.ReadFile(o.pki(e.ca + ".crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	cert, err := tls.LoadX509KeyPair(o.pki(e.client+".crt"), o.pki(e.client+".key"))
	if err != nil {
		return nil, err
	}
	return &http.Client{
		Timeout: requestTimeout,
		// No proxy: whatever the environment names can't reach this loopback.
		Transport: &http.Transport{TLSClientConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, RootCAs: roots, Certificates: []tls.Certificate{cert},
		}},
	}, nil
}

func probe(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", response.Status, bytes.TrimSpace(body))
	}
	return nil
}

// explain adds the last lines of a component's log to an error.
func (o Options) explain(name string, err error) error {
	data, readErr := os.ReadFile(o.logFile(name))
	if readErr != nil {
		return err
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	lines = lines[max(0, len(lines)-logTailLines):]
	return fmt.Errorf("%w\nlast lines of %s:\n  %s", err, o.logFile(name), strings.Join(lines, "\n  "))
}
