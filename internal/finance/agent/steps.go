package agent

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/delegation-dev/delegation-operator/internal/finance"
)

// The names and ids of the artifacts. A task has one of each, so a fixed id is unique within it and a
// client that gets one twice can tell.
const (
	MarkdownArtifact = "report.md"
	CSVArtifact      = "report.csv"
)

// steps are the work on a task in order. Each says whether the next one follows; a step that says no has
// emitted the event that ends this run. To ask the client something, a step ends the run in an
// interrupted state unless the answer is among the task's messages.
var steps = []func(context.Context, *job) bool{submit, readInputs, start, reconcile, publish, complete}

// job is one run over the steps.
type job struct {
	*Executor
	*a2asrv.ExecutorContext
	yield  func(a2a.Event, error) bool
	inputs Inputs
	report *finance.Report
}

// submit puts the task into the store with the message that asked for it in its history: clients that
// lost the answer find the task by that.
func submit(_ context.Context, j *job) bool {
	if j.StoredTask != nil {
		return true
	}
	task := a2a.NewSubmittedTask(j, j.Message)
	now := time.Now()
	task.Status.Timestamp = &now // listings that ask for changes since a time go by it
	return j.emit(task)
}

func readInputs(_ context.Context, j *job) bool {
	inputs, err := ReadInputs(j.messages()...)
	if err != nil {
		return j.end(a2a.TaskStateRejected, sentence(err)+" "+HowToSend)
	}
	j.inputs = inputs
	return true
}

// start says nothing besides the state: what the agent says goes into the history, where clients look for
// their own message, some of them among the latest few only.
func start(ctx context.Context, j *job) bool {
	return pause(ctx, j.Delay/2) && j.emit(a2a.NewStatusUpdateEvent(j, a2a.TaskStateWorking, nil))
}

func reconcile(_ context.Context, j *job) bool {
	entries, ledgerErr := finance.ParseLedger(j.inputs.Ledger)
	lines, bankErr := finance.ParseBank(j.inputs.Bank)
	if err := errors.Join(ledgerErr, bankErr); err != nil {
		return j.end(a2a.TaskStateFailed, sentence(err))
	}
	options := j.Options
	if j.inputs.Period != "" {
		options.Period = j.inputs.Period
	}
	j.report = finance.Reconcile(entries, lines, options)
	return true
}

func publish(ctx context.Context, j *job) bool {
	return pause(ctx, j.Delay-j.Delay/2) &&
		j.emit(artifact(j, MarkdownArtifact, "text/markdown", "The findings, for people.", j.report.Markdown())) &&
		j.emit(artifact(j, CSVArtifact, "text/csv", "Every row of both tables, for programs.", j.report.CSV()))
}

func complete(_ context.Context, j *job) bool {
	return j.end(a2a.TaskStateCompleted, j.report.Summary()+".")
}

// messages are all of the task, the one that started this run included.
func (j *job) messages() []*a2a.Message {
	if j.StoredTask == nil {
		return []*a2a.Message{j.Message}
	}
	return j.StoredTask.History // holds the new message already
}

// emit reports whether somebody still takes events: after a cancellation nobody does.
func (j *job) emit(event a2a.Event) bool { return j.yield(event, nil) }

// end is the last event of a run.
func (j *job) end(state a2a.TaskState, text string) bool {
	j.emit(a2a.NewStatusUpdateEvent(j, state, say(j, text)))
	return false
}

func artifact(task a2a.TaskInfoProvider, name, mediaType, description, content string) *a2a.TaskArtifactUpdateEvent {
	part := a2a.NewTextPart(content)
	part.MediaType, part.Filename = mediaType, name
	event := a2a.NewArtifactEvent(task, part)
	event.Artifact.ID = a2a.ArtifactID(name)
	event.Artifact.Name = name
	event.Artifact.Description = description
	event.LastChunk = true
	return event
}

// pause waits and reports whether the time passed; it ends early when the task is canceled.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// maxSentence bounds what a status message repeats of the client's own input, in bytes.
const maxSentence = 500

func sentence(err error) string {
	text := strings.ReplaceAll(err.Error(), "\n", "; ")
	if len(text) > maxSentence {
		text = strings.ToValidUTF8(text[:maxSentence], "") + "…"
	}
	return text + "."
}
