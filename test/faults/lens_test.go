// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/delegation-dev/delegation-operator/test/harness"
)

// event is one line of a watch.
type event struct {
	line []byte
	at   time.Time
}

// key names the object of an event of a change; "" for others, which are never dropped.
func (e event) key() string {
	var change struct {
		Type   string
		Object struct{ Metadata struct{ Name string } }
	}
	if json.Unmarshal(e.line, &change) != nil || change.Type != "MODIFIED" {
		return ""
	}
	return change.Object.Metadata.Name
}

// lens passes a watch on to a reader that decides what is seen of it, and when.
type lens struct {
	http.ResponseWriter
	rest   []byte
	events chan event
	// clear lets all through: the answer is no watch.
	clear bool
}

// WriteHeader implements http.ResponseWriter.
func (l *lens) WriteHeader(code int) {
	l.clear = code != http.StatusOK
	l.ResponseWriter.WriteHeader(code)
	_ = http.NewResponseController(l.ResponseWriter).Flush() // the manager may be gone
}

// Write implements http.ResponseWriter.
func (l *lens) Write(p []byte) (int, error) {
	if l.clear {
		return l.ResponseWriter.Write(p)
	}
	l.rest = append(l.rest, p...)
	for {
		i := bytes.IndexByte(l.rest, '\n')
		if i < 0 {
			return len(p), nil
		}
		l.events <- event{bytes.Clone(l.rest[:i+1]), time.Now()}
		l.rest = l.rest[i+1:]
	}
}

// Flush implements http.Flusher: who writes to the manager flushes.
func (*lens) Flush() {}

// through puts a lens on watches of Delegations. show writes to the manager until the events end; end ends the watch.
func through(show func(events <-chan event, send func([]byte), end func())) harness.Around {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !watches(r) {
				next.ServeHTTP(w, r)
				return
			}
			ctx, end := context.WithCancel(r.Context())
			defer end()
			l := &lens{ResponseWriter: w, events: make(chan event, 4096)}
			shown := make(chan struct{})
			control := http.NewResponseController(w)
			go func() {
				defer close(shown)
				show(l.events, func(line []byte) {
					_, _ = w.Write(line) // the manager may be gone
					_ = control.Flush()
				}, end)
				for range l.events {
					// What comes after the end is seen by nobody.
					continue
				}
			}()
			defer func() {
				close(l.events)
				<-shown
			}()
			r = r.Clone(ctx)
			r.Header.Del("Accept-Encoding") // the lens reads lines, and what is compressed has none
			next.ServeHTTP(l, r)
		})
	}
}

func watches(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Query().Has("watch") && strings.HasSuffix(r.URL.Path, "/delegations")
}

func lists(r *http.Request) bool {
	return r.Method == http.MethodGet && !r.URL.Query().Has("watch") && strings.HasSuffix(r.URL.Path, "/delegations")
}

// late shows each event a time after it came.
func late(lag time.Duration) harness.Around {
	return through(func(events <-chan event, send func([]byte), _ func()) {
		for e := range events {
			time.Sleep(time.Until(e.at.Add(lag)))
			send(e.line)
		}
	})
}

// skipping shows what has become of each object at the end of each window, and nothing in between.
func skipping(window time.Duration) harness.Around {
	return through(func(events <-chan event, send func([]byte), _ func()) {
		for first := range events {
			batch := []event{first}
			for end := time.After(window); ; {
				select {
				case e, ok := <-events:
					if ok {
						batch = append(batch, e)
						continue
					}
				case <-end:
				}
				break
			}
			last := map[string]int{}
			for i, e := range batch {
				last[e.key()] = i
			}
			for i, e := range batch {
				if key := e.key(); key == "" || last[key] == i {
					send(e.line)
				}
			}
		}
	})
}

// expiring ends each watch after n changes, as when what comes next was compacted away: the manager has to list anew.
func expiring(n int) harness.Around {
	gone := []byte(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` +
		`"message":"too old resource version","reason":"Expired","code":410}}` + "\n")
	return through(func(events <-chan event, send func([]byte), end func()) {
		changes := 0
		for e := range events {
			if e.key() != "" {
				if changes++; changes > n {
					send(gone)
					end()
					return
				}
			}
			send(e.line)
		}
	})
}
