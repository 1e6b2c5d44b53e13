// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// fullAttempt has all that an attempt has.
func fullAttempt() Attempt {
	return Attempt{
		Number: 2, Holder: "manager-1_a", First: start.Add(-time.Hour), Started: start, Deadline: start.Add(timeout),
		Endpoint: "sha256:endpoint", Body: "sha256:body", Credentials: "4711",
	}
}

// fullJournal is what a release wrote for it. A later one has to read it, and an earlier one what the later one writes: in
// a rolling update both are there.
const fullJournal = `{"number":2,"holder":"manager-1_a",` +
	`"first":"2026-09-30T11:00:00.123456789Z","started":"2026-09-30T12:00:00.123456789Z","deadline":"2026-09-30T12:00:30.123456789Z",` +
	`"endpoint":"sha256:endpoint","body":"sha256:body","credentials":"4711"}`

// journal is a Delegation, as the API server returned it, with this annotation.
func journal(text string) *v1alpha1.Delegation {
	return &v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{
		Namespace: "books", Name: "reconcile", ResourceVersion: "7",
		Annotations: map[string]string{v1alpha1.AttemptAnnotation: text},
	}}
}

// written is the API server's answer to the write of the attempt.
func written(t *testing.T, a Attempt) *v1alpha1.Delegation {
	t.Helper()
	d := journal("")
	if err := a.Annotate(d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestAnnotate(t *testing.T) {
	cases := []struct {
		name         string
		before, want map[string]string
	}{
		{"no annotations", nil, map[string]string{v1alpha1.AttemptAnnotation: fullJournal}},
		{"others stay", map[string]string{"team": "books"}, map[string]string{"team": "books", v1alpha1.AttemptAnnotation: fullJournal}},
		{"the attempt before goes", map[string]string{v1alpha1.AttemptAnnotation: "{}"}, map[string]string{v1alpha1.AttemptAnnotation: fullJournal}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := &v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{Annotations: c.before}}
			if err := fullAttempt().Annotate(d); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(d.Annotations, c.want) {
				t.Errorf("annotations %v, want %v", d.Annotations, c.want)
			}
		})
	}
}

// A time that JSON can't hold must not leave half a journal.
func TestAnnotateFails(t *testing.T) {
	a := fullAttempt()
	a.Deadline = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
	d := journal(fullJournal)
	var want *json.MarshalerError
	if err := a.Annotate(d); !errors.As(err, &want) {
		t.Errorf("error %v, want a %T", err, want)
	}
	if d.Annotations[v1alpha1.AttemptAnnotation] != fullJournal {
		t.Error("the journal was changed")
	}
}

func TestJournalled(t *testing.T) {
	minimal := Attempt{Number: 1, Body: "sha256:body", Deadline: time.Date(2026, 9, 30, 12, 0, 0, 0, time.UTC)}
	cases := []struct {
		name string
		text string
		want Attempt
	}{
		{"a full one", fullJournal, fullAttempt()},
		{"with fields of a later release", `{"number":1,"body":"sha256:body","deadline":"2026-09-30T12:00:00Z","shard":3}`, minimal},
		{"by hand", "{\n  \"body\": \"sha256:body\",\n  \"deadline\": \"2026-09-30T12:00:00Z\",\n  \"number\": 1\n}\n", minimal},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Journalled(journal(c.text))
			if err != nil || !reflect.DeepEqual(got, &c.want) {
				t.Errorf("%+v and error %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestJournalledRoundTrip(t *testing.T) {
	a := fullAttempt()
	// The clock of a process has a zone and a monotonic reading; the journal has neither.
	a.Started = a.Started.In(time.FixedZone("", 2*60*60))
	got, err := Journalled(written(t, a))
	if err != nil {
		t.Fatal(err)
	}
	if !got.Started.Equal(a.Started) {
		t.Errorf("started %s, want %s", got.Started, a.Started)
	}
	if got.Started = fullAttempt().Started; !reflect.DeepEqual(*got, fullAttempt()) {
		t.Errorf("%+v, want %+v", *got, fullAttempt())
	}
}

func TestNotJournalled(t *testing.T) {
	for name, annotations := range map[string]map[string]string{"no annotations": nil, "others": {"team": "books"}} {
		t.Run(name, func(t *testing.T) {
			got, err := Journalled(&v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}})
			if got != nil || err != nil {
				t.Errorf("%+v and error %v, want neither", got, err)
			}
		})
	}
}

// What can't be read is an error and never "no attempt": the message may have been sent.
var unreadable = map[string]string{
	"empty":               ``,
	"no JSON":             `attempt 2`,
	"cut off":             fullJournal[:len(fullJournal)-1],
	"two":                 fullJournal + fullJournal,
	"null":                `null`,
	"a list":              `[]`,
	"no fields":           `{}`,
	"without a number":    `{"body":"sha256:body"}`,
	"with number 0":       `{"number":0,"body":"sha256:body"}`,
	"with number -1":      `{"number":-1,"body":"sha256:body"}`,
	"with half a number":  `{"number":1.5,"body":"sha256:body"}`,
	"with a large number": `{"number":2147483648,"body":"sha256:body"}`,
	"without a body":      `{"number":2}`,
	"without a deadline":  `{"number":2,"body":"sha256:body"}`,
	"with a wrong time":   `{"number":2,"body":"sha256:body","deadline":"today"}`,
}

func TestUnreadableJournal(t *testing.T) {
	for name, text := range unreadable {
		t.Run(name, func(t *testing.T) {
			if got, err := Journalled(journal(text)); got != nil || err == nil {
				t.Errorf("read %+v, want an error", got)
			}
			token, err := Fence(journal(text), "6", fullAttempt())
			if err == nil || !reflect.DeepEqual(token, Token{}) {
				t.Errorf("token for %+v, want an error", token.Attempt())
			}
		})
	}
	var syntax *json.SyntaxError
	if _, err := Journalled(journal(`attempt 2`)); !errors.As(err, &syntax) {
		t.Errorf("error %v, want a %T", err, syntax)
	}
}

func TestFence(t *testing.T) {
	another := func(change func(*Attempt)) Attempt {
		a := fullAttempt()
		change(&a)
		return a
	}
	notWritten := written(t, fullAttempt())
	notWritten.ResourceVersion = ""
	before := written(t, fullAttempt())
	before.ResourceVersion = "6"
	cases := []struct {
		name    string
		written *v1alpha1.Delegation
		err     error
	}{
		{"written", written(t, fullAttempt()), nil},
		{"never written", notWritten, ErrNoFence},
		{"as it was before the write", before, ErrNoFence},
		{"without a journal", &v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}}, ErrNoFence},
		{"of another process", written(t, another(func(a *Attempt) { a.Holder = "manager-1_b" })), ErrNoFence},
		{"of the attempt before", written(t, another(func(a *Attempt) { a.Number = 1 })), ErrNoFence},
		{"of the attempt after", written(t, another(func(a *Attempt) { a.Number = 3 })), ErrNoFence},
		{"of another body", written(t, another(func(a *Attempt) { a.Body = "sha256:other" })), ErrNoFence},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			token, err := Fence(c.written, "6", fullAttempt())
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			want := fullAttempt()
			if c.err != nil {
				want = Attempt{}
			}
			if !reflect.DeepEqual(token.Attempt(), want) {
				t.Errorf("the token is for %+v, want %+v", token.Attempt(), want)
			}
		})
	}
}

// The token stands for what is in etcd, so that the deadline that is kept is the one that others see.
func TestTokenHoldsWhatWasWritten(t *testing.T) {
	asked := fullAttempt()
	asked.Deadline = asked.Deadline.Add(time.Hour)
	token, err := Fence(written(t, fullAttempt()), "6", asked)
	if err != nil || !reflect.DeepEqual(token.Attempt(), fullAttempt()) {
		t.Errorf("the token is for %+v with error %v, want %+v", token.Attempt(), err, fullAttempt())
	}
}

func TestZeroToken(t *testing.T) {
	if got := (Token{}).Attempt(); !reflect.DeepEqual(got, Attempt{}) {
		t.Errorf("the zero token is for %+v", got)
	}
}
