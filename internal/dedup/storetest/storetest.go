// Package storetest holds the behaviour that every dedup.Store has to show, so that each implementation
// runs the same tests.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

// start is where the tests' clock begins. Stores get the time as an argument, so no test waits.
var start = time.Date(2026, 9, 1, 8, 0, 0, 0, time.UTC)

const ttl = time.Hour

var key = dedup.Key{Principal: "orchestrator", MessageID: "m-71"}

// Run runs the conformance tests. open returns an empty store and arranges for it to be closed; it is
// called once for every test.
func Run(t *testing.T, open func(t *testing.T) dedup.Store) {
	tests := map[string]func(t *testing.T, s dedup.Store){
		"first insert wins":             firstInsertWins,
		"keys do not run together":      keysDoNotRunTogether,
		"bound row":                     boundRow,
		"reply is kept byte by byte":    replyIsKept,
		"another outcome is refused":    anotherOutcomeIsRefused,
		"bind without a row":            bindWithoutRow,
		"release frees the key":         releaseFreesTheKey,
		"bound row can't be released":   boundRowCantBeReleased,
		"expiry":                        expiry,
		"expired bound row":             expiredBoundRow,
		"retention must be positive":    retentionMustBePositive,
		"done context changes nothing":  doneContext,
		"one winner among many":         oneWinner,
		"inserts and releases in turns": insertsAndReleases,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func insert(t *testing.T, s dedup.Store, k dedup.Key, digest string, at time.Time) (dedup.Row, bool) {
	t.Helper()
	row, inserted, err := s.Insert(t.Context(), k, digest, at, ttl)
	if err != nil {
		t.Fatalf("Insert(%v): %v", k, err)
	}
	return row, inserted
}

func mustInsert(t *testing.T, s dedup.Store, k dedup.Key, digest string, at time.Time) {
	t.Helper()
	if _, inserted := insert(t, s, k, digest, at); !inserted {
		t.Fatalf("Insert(%v): not inserted into a store without that row", k)
	}
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
}

func firstInsertWins(t *testing.T, s dedup.Store) {
	row, inserted := insert(t, s, key, "d1", start)
	if !inserted || row.Digest != "d1" || row.Binding.Known() || !row.Expires.Equal(start.Add(ttl)) {
		t.Errorf("first insert: %+v, %v", row, inserted)
	}
	row, inserted = insert(t, s, key, "d2", start.Add(time.Minute))
	if inserted || row.Digest != "d1" || !row.Expires.Equal(start.Add(ttl)) {
		t.Errorf("second insert: %+v, %v: want the first row as it was", row, inserted)
	}
}

func keysDoNotRunTogether(t *testing.T, s dedup.Store) {
	for _, k := range []dedup.Key{
		{Principal: "a", MessageID: "b"}, {Principal: "", MessageID: "b"}, {Principal: "b", MessageID: "a"},
		{Principal: "a/b", MessageID: "c"}, {Principal: "a", MessageID: "b/c"}, {Principal: "ab", MessageID: ""},
		{Principal: "A", MessageID: "b"}, {Principal: "a", MessageID: "b "}, {Principal: "a'--", MessageID: "\x00"},
	} {
		mustInsert(t, s, k, "d", start)
	}
}

func boundRow(t *testing.T, s dedup.Store) {
	mustInsert(t, s, key, "d1", start)
	for range 2 { // the same outcome twice is no conflict
		if err := s.Bind(t.Context(), key, dedup.Binding{TaskID: "t-5a"}); err != nil {
			t.Fatalf("Bind: %v", err)
		}
	}
	row, inserted := insert(t, s, key, "d1", start.Add(time.Second))
	if inserted || row.Binding.TaskID != "t-5a" || len(row.Binding.Reply) != 0 {
		t.Errorf("after Bind: %+v, %v", row, inserted)
	}
}

func replyIsKept(t *testing.T, s dedup.Store) {
	const reply = `{ "messageId":"r-1",  "parts":[{"text":"ünïcode"}] }`
	mustInsert(t, s, key, "d1", start)
	if err := s.Bind(t.Context(), key, dedup.Binding{Reply: []byte(reply)}); err != nil {
		t.Fatalf("Bind: %v", err)
	}
	row, _ := insert(t, s, key, "d1", start)
	if string(row.Binding.Reply) != reply || row.Binding.TaskID != "" {
		t.Fatalf("reply is %s", row.Binding.Reply)
	}
	clear(row.Binding.Reply) // what a caller does to its copy must not reach the table
	if row, _ = insert(t, s, key, "d1", start); string(row.Binding.Reply) != reply {
		t.Errorf("reply changed through a returned row: %q", row.Binding.Reply)
	}
}

func anotherOutcomeIsRefused(t *testing.T, s dedup.Store) {
	mustInsert(t, s, key, "d1", start)
	if err := s.Bind(t.Context(), key, dedup.Binding{TaskID: "t-1"}); err != nil {
		t.Fatalf("Bind: %v", err)
	}
	wantErr(t, "Bind to another task", s.Bind(t.Context(), key, dedup.Binding{TaskID: "t-2"}), dedup.ErrBound)
	wantErr(t, "Bind to a reply", s.Bind(t.Context(), key, dedup.Binding{Reply: []byte(`{}`)}), dedup.ErrBound)
	if row, _ := insert(t, s, key, "d1", start); row.Binding.TaskID != "t-1" {
		t.Errorf("outcome is %+v, want the first", row.Binding)
	}
}

func bindWithoutRow(t *testing.T, s dedup.Store) {
	wantErr(t, "Bind", s.Bind(t.Context(), key, dedup.Binding{TaskID: "t-1"}), dedup.ErrNoRow)
	mustInsert(t, s, key, "d", start) // and the failed Bind left nothing behind
}

func releaseFreesTheKey(t *testing.T, s dedup.Store) {
	if err := s.Release(t.Context(), key); err != nil {
		t.Fatalf("Release without a row: %v", err)
	}
	other := dedup.Key{Principal: key.Principal, MessageID: "m-72"}
	mustInsert(t, s, key, "d1", start)
	mustInsert(t, s, other, "d1", start)
	if err := s.Release(t.Context(), key); err != nil {
		t.Fatalf("Release: %v", err)
	}
	mustInsert(t, s, key, "d2", start)
	if _, inserted := insert(t, s, other, "d1", start); inserted {
		t.Error("releasing one key released another")
	}
}

func boundRowCantBeReleased(t *testing.T, s dedup.Store) {
	mustInsert(t, s, key, "d1", start)
	if err := s.Bind(t.Context(), key, dedup.Binding{TaskID: "t-1"}); err != nil {
		t.Fatalf("Bind: %v", err)
	}
	wantErr(t, "Release", s.Release(t.Context(), key), dedup.ErrBound)
	if row, inserted := insert(t, s, key, "d1", start); inserted || row.Binding.TaskID != "t-1" {
		t.Errorf("after Release: %+v, %v", row, inserted)
	}
}

func expiry(t *testing.T, s dedup.Store) {
	mustInsert(t, s, key, "d1", start)
	if _, inserted := insert(t, s, key, "d1", start.Add(ttl-time.Millisecond)); inserted {
		t.Error("row expired early")
	}
	row, inserted := insert(t, s, key, "d2", start.Add(ttl))
	if !inserted || row.Digest != "d2" || !row.Expires.Equal(start.Add(2*ttl)) {
		t.Errorf("at the time of expiry: %+v, %v", row, inserted)
	}
}

func expiredBoundRow(t *testing.T, s dedup.Store) {
	mustInsert(t, s, key, "d1", start)
	if err := s.Bind(t.Context(), key, dedup.Binding{TaskID: "t-1"}); err != nil {
		t.Fatalf("Bind: %v", err)
	}
	row, inserted := insert(t, s, key, "d1", start.Add(ttl))
	if !inserted || row.Binding.Known() {
		t.Errorf("expired bound row: %+v, %v: want a fresh row", row, inserted)
	}
}

func retentionMustBePositive(t *testing.T, s dedup.Store) {
	for _, ttl := range []time.Duration{0, -time.Second} {
		_, inserted, err := s.Insert(t.Context(), key, "d", start, ttl)
		wantErr(t, fmt.Sprintf("Insert with ttl %v", ttl), err, dedup.ErrRetention)
		if inserted {
			t.Error("inserted in spite of the error")
		}
	}
	mustInsert(t, s, key, "d", start)
}

func doneContext(t *testing.T, s dedup.Store) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	_, inserted, err := s.Insert(done, key, "d", start, ttl)
	wantErr(t, "Insert", err, context.Canceled)
	if inserted {
		t.Error("inserted in spite of the error")
	}
	mustInsert(t, s, key, "d", start)
	wantErr(t, "Bind", s.Bind(done, key, dedup.Binding{TaskID: "t-1"}), context.Canceled)
	wantErr(t, "Release", s.Release(done, key), context.Canceled)
	if row, inserted := insert(t, s, key, "d", start); inserted || row.Binding.Known() {
		t.Errorf("after calls with a done context: %+v, %v", row, inserted)
	}
}

// race calls f n times at once and returns how often it was true.
func race(t *testing.T, n int, f func(i int) bool) int {
	t.Helper()
	var (
		mu    sync.Mutex
		yes   int
		group sync.WaitGroup
		gate  = make(chan struct{})
	)
	for i := range n {
		group.Go(func() {
			<-gate
			if f(i) {
				mu.Lock()
				yes++
				mu.Unlock()
			}
		})
	}
	close(gate)
	group.Wait()
	return yes
}

func oneWinner(t *testing.T, s dedup.Store) {
	for round := range 20 {
		k := dedup.Key{MessageID: fmt.Sprint("m-", round)}
		won := race(t, 32, func(int) bool {
			_, inserted, err := s.Insert(t.Context(), k, "d", start, ttl)
			if err != nil {
				t.Errorf("Insert: %v", err)
			}
			return inserted
		})
		if won != 1 {
			t.Fatalf("round %d: %d inserts won, want 1", round, won)
		}
	}
}

// insertsAndReleases gives one key to many holders, each of which owns it between its insert and its
// release: two at once would mean that a release freed somebody else's row.
func insertsAndReleases(t *testing.T, s dedup.Store) {
	var holders atomic.Int32
	won := race(t, 32, func(int) bool {
		_, inserted, err := s.Insert(t.Context(), key, "d", start, ttl)
		if err != nil {
			t.Errorf("Insert: %v", err)
		}
		if !inserted {
			return false
		}
		if holders.Add(1) != 1 {
			t.Error("two holders of one key")
		}
		runtime.Gosched()
		holders.Add(-1)
		if err := s.Release(t.Context(), key); err != nil {
			t.Errorf("Release: %v", err)
		}
		return true
	})
	if won == 0 {
		t.Error("nobody got the key")
	}
	mustInsert(t, s, key, "d", start)
}
