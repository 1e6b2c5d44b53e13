// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// Event is what a push says. It decides on whom to tell, and on nothing else.
type Event struct {
	// TaskID is the task that it is about; empty where it does not say.
	TaskID string
	// State is the task's, in A2A 1.0's spelling; empty where it says none.
	State v1alpha1.TaskState
	// Timestamp is the agent's time of the state; zero where it gives none.
	Timestamp time.Time
	// ID tells the event from others; empty where it can't be told from one that looks the same.
	ID string
}

const statePrefix = "TASK_STATE_"

var stateForm = regexp.MustCompile(`^` + statePrefix + `[A-Z_]{1,48}$`)

type taskStatus struct {
	State     string `json:"state"`
	Timestamp string `json:"timestamp"`
}

// update has the members that tell of a task, in a StreamResponse (A2A 1.0, section 3.2.3) or, as in A2A 0.3, without one.
type update struct {
	ID        string     `json:"id"`
	TaskID    string     `json:"taskId"`
	MessageID string     `json:"messageId"`
	Status    taskStatus `json:"status"`
	Artifact  *struct{}  `json:"artifact"`
}

// read takes from a body what it can. One that it can't read is an event all the same, of which nothing is known.
func read(body []byte) Event {
	var response struct {
		update
		Task           *update `json:"task"`
		Message        *update `json:"message"`
		StatusUpdate   *update `json:"statusUpdate"`
		ArtifactUpdate *update `json:"artifactUpdate"`
	}
	// A member of another type is left out, and the rest is read.
	_ = json.Unmarshal(body, &response)
	u := &response.update
	for _, wrapped := range []*update{response.Task, response.Message, response.StatusUpdate, response.ArtifactUpdate} {
		if wrapped != nil {
			u = wrapped
		}
	}
	e := Event{TaskID: u.TaskID, State: stateOf(u.Status.State)}
	if e.TaskID == "" {
		e.TaskID = u.ID
	}
	if at, err := time.Parse(time.RFC3339Nano, u.Status.Timestamp); err == nil {
		e.Timestamp = at
	}
	// A state without a time may come again and be news; a chunk or a message that comes again says the same.
	if !e.Timestamp.IsZero() || u.Artifact != nil || u.MessageID != "" {
		sum := sha256.Sum256(body)
		e.ID = hex.EncodeToString(sum[:])
	}
	return e
}

// stateOf is a state in A2A 1.0's spelling; A2A 0.3 has completed, and input-required. Anything else is no state.
func stateOf(text string) v1alpha1.TaskState {
	if !strings.HasPrefix(text, statePrefix) {
		text = statePrefix + strings.ToUpper(strings.ReplaceAll(text, "-", "_"))
	}
	if !stateForm.MatchString(text) {
		return ""
	}
	return v1alpha1.TaskState(text)
}
