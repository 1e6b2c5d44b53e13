// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// Outcome is what one exchange with an agent proved, judged by what happened on the wire and not by an error's text.
type Outcome string

// The outcomes.
const (
	// NotSent: the agent certainly did not take the message. Sending it again is safe.
	NotSent Outcome = "NotSent"
	// Accepted: the agent answered with a usable Task or Message.
	Accepted Outcome = "Accepted"
	// Refused: the agent read the request and said no. Asking again brings the same answer.
	Refused Outcome = "Refused"
	// Unauthorized: the agent does not accept the caller. The request was not processed.
	Unauthorized Outcome = "Unauthorized"
	// InProgress: the agent has the message and says to come back with the same one.
	InProgress Outcome = "InProgress"
	// Unresolved: a deduplicating agent had the message before, and does not know what became of it. Sending it again brings
	// the same answer.
	Unresolved Outcome = "Unresolved"
	// Ambiguous: nothing is proved. The agent may have acted on the request.
	Ambiguous Outcome = "Ambiguous"
	// Absent: the agent answered a question about a task and does not have it. Only a lookup or a GetTask brings it.
	Absent Outcome = "Absent"
)

// ReasonHistoryMissing is the reason of an Absent lookup that saw tasks without a history, one of which may hold the
// message: it is not found, and yet nothing is proved.
const ReasonHistoryMissing = "HistoryMissing"

// Exchange is the result of one request to an agent, or of one lookup made of several.
type Exchange struct {
	// Outcome is what it proved.
	Outcome Outcome
	// Reason is a CamelCase word for the cause, fit for a condition's reason; empty when Accepted.
	Reason string
	// Detail is for people: one line without control characters, credentials or payload, at most 1 KiB.
	Detail string
	// RetryAfter is how long the agent asked to be left alone (RFC 9110, section 10.2.3); 0 where it did not.
	RetryAfter time.Duration
	// Task is the agent's task, where it answered with one. For a message that was refused it is the task that the message
	// was to continue.
	Task *Task
	// Others are further tasks that the agent made of the same message.
	Others []string
	// Reply is the text of the agent's direct Message, where it made no task.
	Reply *string
}

// Task is a snapshot of an agent's task.
type Task struct {
	ID        string
	ContextID string
	State     v1alpha1.TaskState
	// Timestamp is the agent's time of the state; zero where it gave none.
	Timestamp time.Time
	// Message is the text that came with the state.
	Message string
	// History holds the messageIds of the task's history that the agent showed.
	History []string
	// Artifacts are the task's results.
	Artifacts []Artifact
	// MoreArtifacts is how many there are besides, at least, of which nothing is known.
	MoreArtifacts int
}

// Artifact is one result of a task.
type Artifact struct {
	ID   string
	Name string
	// Parts are its contents in order.
	Parts []ArtifactPart
	// Incomplete says that there are more parts, of which nothing is known.
	Incomplete bool
}

// ArtifactPart is one piece of an artifact: content or the URL of it.
type ArtifactPart struct {
	MediaType string
	Filename  string
	// Text tells text and JSON from binary content.
	Text    bool
	Content []byte
	URL     string
	// Omitted describes content that was too large to be kept; nil where there is none but Content.
	Omitted *Omission
}

// Omission describes content that only the agent has.
type Omission struct {
	// Size in bytes and Digest of the content, as sha256 and its hexadecimal form; zero and empty where they are not known.
	Size   int64
	Digest string
}

// Query says which message a lookup searches for.
type Query struct {
	MessageID string
	// ContextID narrows the search to one conversation, After to tasks that changed since; either may be missing.
	ContextID string
	After     time.Time
}

// Call is a kind of request that the operator makes to an agent.
type Call string

// The calls.
const (
	CallNone   Call = ""
	CallSend   Call = "SendMessage"
	CallFind   Call = "ListTasks"
	CallGet    Call = "GetTask"
	CallCancel Call = "CancelTask"
)

// Result is a finished call of this process. It is kept in memory until what it proved is in the API server; losing it
// is safe, since the journal says that an attempt may be out.
type Result struct {
	Call Call
	// Attempt is the number of the attempt that a CallSend made.
	Attempt int32
	// Journal is when a CallSend journalled its attempt, or tried to: with the number it names the attempt.
	Journal time.Time
	// TaskID is the task that a CallGet or a CallCancel was about.
	TaskID string
	// Credentials is the version of the credentials that the call carried.
	Credentials string
	// Started and At are when the call began and ended.
	Started time.Time
	At      time.Time
	// Since is when this outcome of this call was first seen without another in between.
	Since time.Time
	Exchange
}
