// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// ErrNoFence says that a Token was asked for an attempt that is not in the journal.
var ErrNoFence = errors.New("the attempt is not in the journal that the API server returned")

// Attempt is the journal record of one attempt to deliver a message.
type Attempt struct {
	// Number counts from 1.
	Number int32 `json:"number"`
	// Holder names the process that made the attempt; every start of a process has its own name.
	Holder string `json:"holder"`
	// First is when the first attempt was journalled.
	First time.Time `json:"first"`
	// Started is when this attempt was journalled.
	Started time.Time `json:"started"`
	// Deadline is when this attempt ends at the latest: no byte of the message is written after it.
	Deadline time.Time `json:"deadline"`
	// Endpoint is the digest of the endpoint that it goes to.
	Endpoint string `json:"endpoint"`
	// Elsewhere says that an earlier attempt of open outcome went to another endpoint, where no search leads any more.
	Elsewhere bool `json:"elsewhere,omitempty"`
	// Body is the digest of the message; it is the same for all attempts.
	Body string `json:"body"`
	// Credentials is the version of the credentials that it carries; empty without any.
	Credentials string `json:"credentials,omitempty"`
	// Task and References are the tasks that the message continues and follows up.
	Task       string   `json:"task,omitempty"`
	References []string `json:"references,omitempty"`
	// Before is the time of the interruption that the message answers, as the agent gave it: a task that still shows it
	// has not taken the message.
	Before *time.Time `json:"before,omitempty"`
}

// Annotate writes the attempt into the journal of d.
func (a Attempt) Annotate(d *v1alpha1.Delegation) error {
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("journal of %s/%s: %w", d.Namespace, d.Name, err)
	}
	if d.Annotations == nil {
		d.Annotations = map[string]string{}
	}
	d.Annotations[v1alpha1.AttemptAnnotation] = string(text)
	return nil
}

// Journalled reads the journal of d: nil without an attempt, an error where the annotation can't be read.
func Journalled(d *v1alpha1.Delegation) (*Attempt, error) {
	text, ok := d.Annotations[v1alpha1.AttemptAnnotation]
	if !ok {
		return nil, nil
	}
	a := &Attempt{}
	if err := json.Unmarshal([]byte(text), a); err != nil {
		return nil, fmt.Errorf("annotation %s: %w", v1alpha1.AttemptAnnotation, err)
	}
	if a.Number < 1 || a.Body == "" || a.Deadline.IsZero() {
		return nil, fmt.Errorf("annotation %s: number, body or deadline is missing", v1alpha1.AttemptAnnotation)
	}
	return a, nil
}

// Token is the right to send one attempt. Only Fence makes one, from the object that the journal write returned, so that
// nothing can be sent that is not in etcd.
type Token struct {
	attempt Attempt
}

// Fence returns the token for attempt a. The object must be the API server's answer to the write that journalled it, and
// before the resourceVersion that the write replaced: an object that still has it was never written.
func Fence(written *v1alpha1.Delegation, before string, a Attempt) (Token, error) {
	got, err := Journalled(written)
	if err != nil {
		return Token{}, err
	}
	if got == nil || written.ResourceVersion == "" || written.ResourceVersion == before || got.Number != a.Number || got.Holder != a.Holder || got.Body != a.Body {
		return Token{}, ErrNoFence
	}
	return Token{attempt: *got}, nil
}

// Attempt returns the attempt that the token stands for; the zero Attempt for a zero Token.
func (t Token) Attempt() Attempt { return t.attempt }
