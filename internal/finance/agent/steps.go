package agent

import (
	"context"
	"errors"
	"slices"
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
var steps = []func(context.Context, *job) bool{
	reply, take, read, start, reconcile, work, approve, post, publish, complete,
}

// job is one run over the steps.
type job struct {
	*Executor
	*a2asrv.ExecutorContext
	run     *execution
	journal Journal
	yield   func(a2a.Event, error) bool
	// history is the task's messages in the order in which they were said; the first one is the request.
	history []*a2a.Message
	given   given
	report  *finance.Report

	number    int          // of the step being performed
	again     bool         // an earlier run may have executed it
	recorded  map[int]Step // by earlier runs; nil until it was read
	unwritten []Step       // that are done
}

// take puts the message into the task's history, by which clients find the task that lost the answer. It
// emits the whole task, a new one as submitted and one that was waiting as working again.
//
// The SDK has appended an answer before the question it answers, which it moves out of the status only
// when the next status comes, and not at all when an earlier copy of the answer is there. So the history
// is put in order here.
func take(ctx context.Context, j *job) bool {
	now := time.Now() // listings that ask for changes since a time go by it
	if j.StoredTask == nil {
		task := a2a.NewSubmittedTask(j, j.Message)
		task.Status.Timestamp = &now
		j.history = task.History
		return j.emit(task)
	}
	task := *j.StoredTask
	resumed := ctx.Value(resumedKey{}) != nil
	if resumed && task.Status.State != a2a.TaskStateInputRequired {
		j.history = task.History // it was taken before
		return true
	}
	said := slices.Clone(task.History)
	// The very one: a copy of an earlier run is another object.
	if n := len(said); n > 0 && (said[n-1] == j.Message || resumed && said[n-1].ID == j.Message.ID) {
		said = said[:n-1]
	}
	if task.Status.Message != nil {
		said = append(said, task.Status.Message)
	}
	task.History = append(said, j.Message)
	task.Status = a2a.TaskStatus{State: a2a.TaskStateWorking, Timestamp: &now}
	j.history = task.History
	return j.emit(&task)
}

// start says nothing besides the state: what the agent says goes into the history, where clients look for
// their own message, some of them among the latest few only.
func start(ctx context.Context, j *job) bool {
	if !pause(ctx, j.Delay/2) {
		return false
	}
	isNew := j.StoredTask == nil || j.StoredTask.Status.State == a2a.TaskStateSubmitted
	return !isNew || j.emit(a2a.NewStatusUpdateEvent(j, a2a.TaskStateWorking, nil))
}

func reconcile(ctx context.Context, j *job) (ok bool) {
	j.report, ok = perform(ctx, j, KindReconcile, j.given.Period, func(period string) (*finance.Report, bool) {
		entries, ledgerErr := finance.ParseLedger(j.given.Ledger)
		lines, bankErr := finance.ParseBank(j.given.Bank)
		if err := errors.Join(ledgerErr, bankErr); err != nil {
			return nil, j.end(a2a.TaskStateFailed, sentence(err))
		}
		options := j.Options
		if period != "" {
			options.Period = period
		}
		report, err := finance.ReconcileWithout(j.given.LeaveOut, entries, lines, options)
		if err != nil {
			return nil, j.end(a2a.TaskStateFailed, sentence(err))
		}
		report.Revises = j.given.Revises
		return report, true
	})
	if !ok {
		return false
	}
	own := *j.report // the recorded one stays as it is
	own.Adjustments = slices.Clone(own.Adjustments)
	j.report = &own
	return true
}

func work(ctx context.Context, j *job) bool { return pause(ctx, j.Delay-j.Delay/2) }

func publish(ctx context.Context, j *job) bool {
	return ctx.Err() == nil &&
		j.emit(artifact(j, MarkdownArtifact, "text/markdown", "The findings, for people.", j.report.Markdown())) &&
		j.emit(artifact(j, CSVArtifact, "text/csv", "Every row of both tables, for programs.", j.report.CSV()))
}

func complete(ctx context.Context, j *job) bool {
	return ctx.Err() == nil && j.end(a2a.TaskStateCompleted, j.report.Summary()+".")
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
	return clip(strings.ReplaceAll(err.Error(), "\n", "; "), maxSentence) + "."
}

func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
