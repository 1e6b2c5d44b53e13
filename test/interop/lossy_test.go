// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"sync"
	"testing"

	"github.com/delegation-dev/delegation-operator/test/harness"
)

// lostMark finds the messageId of a message whose first answer is lost, in JSON and in protocol buffers. No other call has
// such an id in its body.
var lostMark = regexp.MustCompile(`[a-z0-9-]+-lost-[a-z]+`)

// loseFirst cuts the connection in place of the first answer to each message with such an id, which the agent has then
// taken and answered.
func loseFirst() harness.Around {
	var lost sync.Map
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return // the operator gave up
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			if marked := lostMark.Find(body); marked != nil {
				if _, before := lost.LoadOrStore(string(marked), true); !before {
					next.ServeHTTP(httptest.NewRecorder(), r)
					panic(http.ErrAbortHandler)
				}
			}
			next.ServeHTTP(w, r)
		})
	}
}

// startGRPCRelay is for gRPC, which is HTTP/2 without TLS here, what harness.StartRelay is for the other bindings. It returns
// the URL.
func startGRPCRelay(t *testing.T, agentURL string, around harness.Around) string {
	t.Helper()
	agent, err := url.Parse(agentURL)
	if err != nil {
		t.Fatal(err)
	}
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	server := httptest.NewUnstartedServer(around(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(agent) },
		Transport:     &http.Transport{Protocols: protocols},
		FlushInterval: -1,
	}))
	server.Config.Protocols = protocols
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}
