// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/delegation-dev/delegation-operator/internal/testenv"
)

// DedupProxy is a deduplicating proxy that runs for one test.
type DedupProxy struct {
	*Process
	// URL is the base URL, where the relayed card is found.
	URL string
}

// StartDedupProxy runs a proxy in front of an agent, by default one that takes everybody for one caller, and waits until
// it listens.
func StartDedupProxy(t testing.TB, agentURL string, flags ...string) *DedupProxy {
	t.Helper()
	address := filepath.Join(t.TempDir(), "address")
	base := []string{"--listen=127.0.0.1:0", "--address-file", address, "--upstream", agentURL, "--principal=anonymous"}
	p := &DedupProxy{Process: StartProcess(t, testenv.Binary(t, "dedup-proxy"), append(base, flags...)...)}
	Eventually(t, Patience, "the proxy to listen", func(context.Context) (bool, string) {
		if !p.Running() {
			t.Fatalf("the proxy ended: %s", p.Output())
		}
		url, err := os.ReadFile(address)
		if err != nil {
			return false, err.Error()
		}
		p.URL = strings.TrimSpace(string(url))
		return true, p.URL
	})
	return p
}
