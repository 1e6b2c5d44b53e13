// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// proof is what a fault shows of a message, whatever the contract.
type proof int

// The proofs.
const (
	open     proof = iota // it may have been accepted
	accepted              // it was
	refused               // it was not, and never will be
	again                 // it was not, and may be sent again
)

// remoteFault is an answer to the first message that is not what it should be.
type remoteFault struct {
	name string
	// reached is whether the agent got the message all the same.
	reached bool
	proves  proof
	// answer writes it; whole is the agent's own answer where it was reached.
	answer func(w http.ResponseWriter, call []byte, whole *httptest.ResponseRecorder)
	quick  bool
}

var remoteFaults = []remoteFault{
	{name: "reset before it arrives", answer: reset, quick: true},
	{name: "reset after it arrived", reached: true, answer: reset, quick: true},
	{name: "closed without an answer", reached: true, answer: hangUp},
	{name: "half an answer", reached: true, answer: half},
	{name: "no answer in time", reached: true, answer: func(http.ResponseWriter, []byte, *httptest.ResponseRecorder) {
		time.Sleep(attemptTimeout + time.Second)
	}},
	{name: "500", answer: status(http.StatusInternalServerError), quick: true},
	{name: "500, and it arrived", reached: true, answer: status(http.StatusInternalServerError)},
	{name: "502, and it arrived", reached: true, answer: status(http.StatusBadGateway)},
	{name: "503 with Retry-After", answer: retryAfter(http.StatusServiceUnavailable, "1")},
	{name: "504, and it arrived", reached: true, answer: status(http.StatusGatewayTimeout)},
	{name: "202", reached: true, answer: status(http.StatusAccepted)},
	{name: "204", reached: true, answer: status(http.StatusNoContent)},
	{name: "a redirect", answer: redirect},
	{name: "a web page", reached: true, answer: body("text/html", "<html>hello</html>")},
	{name: "no JSON", reached: true, answer: body("application/json", "{")},
	{name: "an empty task", reached: true, answer: result(`{"task":{}}`), quick: true},
	{name: "an empty result", reached: true, answer: result(`null`)},
	{name: "an answer to another request", reached: true, answer: body("application/json", `{"jsonrpc":"2.0","id":"other","result":{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}}`)},
	{name: "an internal error", reached: true, answer: failure(-32603)},
	{name: "a response without end", reached: true, answer: endless},
	{name: "a response that unpacks to too much", reached: true, answer: bomb},
	{name: "a state in another spelling", reached: true, proves: accepted, answer: spelled},
	{name: "hints before the answer", reached: true, proves: accepted, answer: hinted},
	{name: "429 with seconds", proves: again, answer: retryAfter(http.StatusTooManyRequests, "1"), quick: true},
	{name: "429 with a date", proves: again, answer: dated},
	{name: "401 once", proves: again, answer: status(http.StatusUnauthorized)},
	{name: "400", proves: refused, answer: status(http.StatusBadRequest)},
	{name: "invalid params", proves: refused, answer: failure(-32602)},
}

// TestRemote gives the first message each wrong answer, under each contract.
func TestRemote(t *testing.T) {
	agents := newAgents(t)
	send := &flows[0]
	t.Run("faults", func(t *testing.T) {
		for _, wrong := range remoteFaults {
			if !*full && !wrong.quick {
				continue
			}
			for _, c := range contracts {
				t.Run(wrong.name+"/"+c.name, func(t *testing.T) {
					t.Parallel()
					end := wrong.end(c)
					r := send.suffer(t, agents.of(send, c), c, nil, fault{agent: wrong.once})
					r.allowed = 8
					ref := &reference{phases: map[string]v1alpha1.Phase{"d": end}, sites: send.reference(t, r.agent, c).sites}
					out := r.judge(ref, nil)
					if end == v1alpha1.PhaseUnknown {
						out.unknown++
					}
					results.add("agent: "+wrong.name, out)
				})
			}
		}
	})
}

// end is where the contract lets the Delegation come to.
func (f *remoteFault) end(c contract) v1alpha1.Phase {
	switch {
	case f.proves == refused:
		return v1alpha1.PhaseRejected
	case f.proves == open && (c.lookup == v1alpha1.LookupNone || c.guesses && !f.reached):
		return v1alpha1.PhaseUnknown
	}
	return v1alpha1.PhaseCompleted
}

// once stands in front of the agent for the first message.
func (f *remoteFault) once(*run) harness.Around {
	var done atomic.Bool
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			call, err := io.ReadAll(r.Body)
			if err != nil {
				return // the manager gave up
			}
			r.Body = io.NopCloser(bytes.NewReader(call))
			if !bytes.Contains(call, []byte(`"`+harness.SendMessage+`"`)) || !done.CompareAndSwap(false, true) {
				next.ServeHTTP(w, r)
				return
			}
			whole := httptest.NewRecorder()
			if f.reached {
				next.ServeHTTP(whole, r)
			}
			f.answer(w, call, whole)
		})
	}
}

func reset(http.ResponseWriter, []byte, *httptest.ResponseRecorder) { panic(http.ErrAbortHandler) }

func hangUp(w http.ResponseWriter, _ []byte, _ *httptest.ResponseRecorder) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

func half(w http.ResponseWriter, _ []byte, whole *httptest.ResponseRecorder) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(whole.Body.Len()))
	_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
	panic(http.ErrAbortHandler)
}

func status(code int) func(http.ResponseWriter, []byte, *httptest.ResponseRecorder) {
	return func(w http.ResponseWriter, _ []byte, _ *httptest.ResponseRecorder) { w.WriteHeader(code) }
}

func retryAfter(code int, value string) func(http.ResponseWriter, []byte, *httptest.ResponseRecorder) {
	return func(w http.ResponseWriter, _ []byte, _ *httptest.ResponseRecorder) {
		w.Header().Set("Retry-After", value)
		w.WriteHeader(code)
	}
}

func dated(w http.ResponseWriter, call []byte, whole *httptest.ResponseRecorder) {
	retryAfter(http.StatusTooManyRequests, time.Now().Add(2*time.Second).UTC().Format(http.TimeFormat))(w, call, whole)
}

// redirect leads back to the same place: who follows it sends the message there again.
func redirect(w http.ResponseWriter, _ []byte, _ *httptest.ResponseRecorder) {
	w.Header().Set("Location", "/a2a")
	w.WriteHeader(http.StatusTemporaryRedirect)
}

func body(kind, text string) func(http.ResponseWriter, []byte, *httptest.ResponseRecorder) {
	return func(w http.ResponseWriter, _ []byte, _ *httptest.ResponseRecorder) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, text)
	}
}

// reply answers the call with a member of a JSON-RPC response.
func reply(w http.ResponseWriter, call []byte, member, value string) {
	var request struct{ ID json.RawMessage }
	_ = json.Unmarshal(call, &request) // what has no id is answered without
	body("application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%q:%s}`, request.ID, member, value))(w, call, nil)
}

func result(value string) func(http.ResponseWriter, []byte, *httptest.ResponseRecorder) {
	return func(w http.ResponseWriter, call []byte, _ *httptest.ResponseRecorder) {
		reply(w, call, "result", value)
	}
}

func failure(code int) func(http.ResponseWriter, []byte, *httptest.ResponseRecorder) {
	return func(w http.ResponseWriter, call []byte, _ *httptest.ResponseRecorder) {
		reply(w, call, "error", fmt.Sprintf(`{"code":%d,"message":"no"}`, code))
	}
}

func endless(w http.ResponseWriter, _ []byte, _ *httptest.ResponseRecorder) {
	w.Header().Set("Content-Type", "application/json")
	for chunk := bytes.Repeat([]byte(" "), 1<<20); ; {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

func bomb(w http.ResponseWriter, _ []byte, _ *httptest.ResponseRecorder) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	for chunk, n := bytes.Repeat([]byte(" "), 1<<20), 0; n < 256; n++ {
		if _, err := z.Write(chunk); err != nil {
			return
		}
	}
	_ = z.Close() // the manager has hung up
}

// spelled answers with the states of A2A 0.3, which are neither terminal nor success.
func spelled(w http.ResponseWriter, _ []byte, whole *httptest.ResponseRecorder) {
	text := whole.Body.String()
	for _, state := range []string{"SUBMITTED", "WORKING", "COMPLETED"} {
		text = strings.ReplaceAll(text, "TASK_STATE_"+state, strings.ToLower(state))
	}
	body("application/json", text)(w, nil, nil)
}

func hinted(w http.ResponseWriter, _ []byte, whole *httptest.ResponseRecorder) {
	w.WriteHeader(http.StatusEarlyHints)
	body("application/json", whole.Body.String())(w, nil, nil)
}
