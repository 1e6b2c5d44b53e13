// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/delegation-dev/delegation-operator/test/harness"
)

// views are what can be wrong with what a manager sees of the API server.
var views = []fault{
	{name: "the watch is 2 s behind", view: func(*run) harness.Around { return late(2 * time.Second) }, extra: 2, quick: true},
	{name: "the first list is old and the watch 1 s behind", view: func(*run) harness.Around { return outdated(late(time.Second)) }, extra: 4},
	{name: "states in between are not seen", view: func(*run) harness.Around { return skipping(700 * time.Millisecond) }, extra: 2},
	{name: "the watch expires after each change", view: func(*run) harness.Around { return expiring(1) }, extra: 2, quick: true},
	{name: "each write conflicts at first", during: storm, extra: 60},
	{name: "each third answer to a write is cut off", view: truncating(3), extra: 40},
	{name: "the API server goes away for a time", view: away, extra: 6},
	// Each tries what the other has done already, for as long as it does not see it; what conflicts is counted too.
	{name: "two managers, both behind", managers: 2, view: func(*run) harness.Around { return late(500 * time.Millisecond) }, extra: 24, quick: true},
}

// TestView plays the flows with a distorted view of the API server.
func TestView(t *testing.T) {
	agents := newAgents(t)
	t.Run("faults", func(t *testing.T) {
		for _, wrong := range views {
			if !*full && !wrong.quick {
				continue
			}
			for i := range flows {
				for _, c := range contracts {
					f := &flows[i]
					if !*full && f.name != "recover" {
						continue
					}
					t.Run(wrong.name+"/"+f.name+"/"+c.name, func(t *testing.T) {
						t.Parallel()
						agent := agents.of(f, c)
						ref := f.reference(t, agent, c)
						r := f.suffer(t, agent, c, nil, wrong)
						r.allowed = wrong.extra
						results.add("view: "+wrong.name, r.judge(ref, nil))
					})
				}
			}
		}
	})
}

// outdated answers each list after the first as the first, from before there was anything. Managers are told that the API
// server has no streaming lists, so that they list.
func outdated(watch harness.Around) harness.Around {
	var mu sync.Mutex
	var first *httptest.ResponseRecorder
	return func(next http.Handler) http.Handler {
		late := watch(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case watches(r) && r.URL.Query().Get("sendInitialEvents") == "true":
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusUnprocessableEntity)
				_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","message":"sendInitialEvents is forbidden","code":422}`))
			case lists(r):
				mu.Lock()
				defer mu.Unlock()
				if first == nil {
					first = httptest.NewRecorder()
					next.ServeHTTP(first, r)
				}
				for name, values := range first.Header() {
					w.Header()[name] = values
				}
				w.WriteHeader(first.Code)
				_, _ = w.Write(first.Body.Bytes())
			default:
				late.ServeHTTP(w, r)
			}
		})
	}
}

// storm changes the Delegations all the time, so that writes conflict.
func storm(r *run) {
	ctx, cancel := context.WithTimeout(r.t.Context(), 5*time.Second)
	defer cancel()
	for n := 0; ctx.Err() == nil && !r.over(); n++ {
		for _, name := range r.flow.objects {
			d := r.find(name)
			if d == nil {
				continue
			}
			if d.Annotations == nil {
				d.Annotations = map[string]string{}
			}
			d.Annotations["storm"] = strconv.Itoa(n)
			if err := r.space.Client.Update(ctx, d); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && ctx.Err() == nil {
				r.t.Error(err)
			}
		}
	}
}

// truncating cuts the answer to each n-th write in half. The write has taken place.
func truncating(n int32) func(*run) harness.Around {
	return func(r *run) harness.Around {
		var writes atomic.Int32
		return func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if _, ok := apiCall(req); !ok || !r.begun.Load() || writes.Add(1)%n != 0 {
					next.ServeHTTP(w, req)
					return
				}
				whole := httptest.NewRecorder()
				next.ServeHTTP(whole, req)
				w.Header().Set("Content-Type", whole.Header().Get("Content-Type"))
				w.Header().Set("Content-Length", strconv.Itoa(whole.Body.Len()))
				w.WriteHeader(whole.Code)
				_, _ = w.Write(bytes.Clone(whole.Body.Bytes()[:whole.Body.Len()/2]))
				panic(http.ErrAbortHandler)
			})
		}
	}
}

// away cuts all connections of the managers for a time that begins with the first message on its way to the agent.
func away(r *run) harness.Around {
	const outage = 30 * time.Second
	var since atomic.Int64
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if r.begun.Load() && r.relay.Calls()[harness.SendMessage] > 0 {
				if since.CompareAndSwap(0, time.Now().UnixNano()) {
					go r.proxy.Cut()
				}
			}
			if began := since.Load(); began != 0 && time.Since(time.Unix(0, began)) < outage {
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(w, req)
		})
	}
}
