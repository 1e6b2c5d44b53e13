// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/finance"
	"github.com/delegation-dev/delegation-operator/internal/finance/ledgerapi"
)

// errUnsent says that a canceled task's posting can't have reached the ledger.
var errUnsent = errors.New("posting was not sent")

// Ledger makes postings.
type Ledger interface {
	// Post makes a posting, once for a key however often it is called, and returns the ledger's id of it. After an
	// error other than ledgerapi.ErrNotSent and ledgerapi.ErrRefused it may be made all the same.
	Post(ctx context.Context, key string, posting finance.Posting) (id string, err error)
}

// postTimeout bounds one try, in which the ledger has to answer.
const postTimeout = 10 * time.Second

// Receipt is the result of a posting's step.
type Receipt struct {
	// ID is the ledger's; empty where no posting was made.
	ID string `json:"id,omitempty"`
	// Refused is why the ledger would not make it.
	Refused string `json:"refused,omitempty"`
}

// Made is a posting that a task has made.
type Made struct {
	Number int // the step's
	finance.Posting
	Receipt
}

// post makes the planned postings, one step each.
func post(ctx context.Context, j *job) bool {
	if j.Ledger == nil {
		return true
	}
	plan, ok := perform(ctx, j, KindPlan, j.report.Period, func(string) ([]finance.Posting, bool) {
		return j.report.Plan(j.given.Posted), true
	})
	if !ok {
		return false
	}
	for _, posting := range plan {
		receipt, ok := perform(ctx, j, KindPost, posting, func(p finance.Posting) (Receipt, bool) {
			receipt, err := j.deliver(ctx, j.TaskID, j.number, p, j.again)
			j.run.unsent = errors.Is(err, errUnsent)
			return receipt, err == nil
		})
		switch {
		case !ok:
			return false
		case receipt.Refused != "":
			return j.endRefused(ctx, receipt)
		}
	}
	j.report.Postings = plan
	return j.write(ctx) // before the artifacts: they say what was posted
}

func (j *job) endRefused(ctx context.Context, refused Receipt) bool {
	if !j.write(ctx) {
		return false
	}
	steps, err := j.journal.Steps(ctx, j.TaskID)
	if err != nil {
		return j.fail(err)
	}
	made, err := madeOf(steps)
	if err != nil {
		return j.fail(err)
	}
	return j.end(a2a.TaskStateFailed, fmt.Sprintf("The ledger refused the posting of step %d: %s.%s", j.number, clip(refused.Refused, maxSentence), kept(made)))
}

// deliver sends a posting until the ledger answers for it. The end of ctx ends that too, with errUnsent, as long as no
// try can have reached the ledger. It returns ErrClosed when the agent ends.
func (e *Executor) deliver(ctx context.Context, task a2a.TaskID, number int, p finance.Posting, mayBeMade bool) (Receipt, error) {
	key := StepKey(task, number)
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		if ctx.Err() != nil && !mayBeMade {
			return Receipt{}, errUnsent
		}
		id, err := e.try(ctx, key, p)
		switch {
		case err == nil:
			return Receipt{ID: id}, nil
		case errors.Is(err, ledgerapi.ErrRefused):
			return Receipt{Refused: err.Error()}, nil
		case !errors.Is(err, ledgerapi.ErrNotSent):
			mayBeMade = true
		}
		slog.WarnContext(ctx, "posting tried again", "key", key, "cause", err)
		if !e.rest(ctx, wait, mayBeMade) {
			return Receipt{}, ErrClosed
		}
	}
}

// try is not cut short by a cancellation: what the ledger says about a posting under way has to be known.
func (e *Executor) try(ctx context.Context, key string, p finance.Posting) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), postTimeout)
	defer cancel()
	return e.Ledger.Post(ctx, key, p)
}

// rest waits between tries. It returns false when the agent ends.
func (e *Executor) rest(ctx context.Context, wait time.Duration, mayBeMade bool) bool {
	canceled := ctx.Done()
	if mayBeMade {
		canceled = nil // the posting is to be finished first
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-canceled:
	case <-e.runs.done():
	}
	select {
	case <-e.runs.done():
		return false
	default:
		return true
	}
}

// settle finishes the step of a task that no execution is at work on any more, and returns what the task posted. A
// posting that is recorded and not done may be on its way to the ledger, so that only making it settles it; unsent says that it isn't.
func (e *Executor) settle(ctx context.Context, task a2a.TaskID, unsent bool) ([]Made, error) {
	if e.Journal == nil {
		return nil, nil
	}
	steps, err := e.Journal.Steps(ctx, task)
	if err != nil || len(steps) == 0 {
		return nil, err
	}
	if last := &steps[len(steps)-1]; last.Kind == KindPost && !last.Done && !unsent {
		posting, err := decode[finance.Posting](last.Input)
		if err != nil {
			return nil, err
		}
		receipt, err := e.deliver(ctx, task, last.Number, posting, true)
		if err != nil {
			return nil, err
		}
		last.Done, last.Result = true, receipt
		if err := e.Journal.Write(ctx, task, *last); err != nil {
			return nil, err
		}
	}
	return madeOf(steps)
}

func madeOf(steps []Step) (all []Made, err error) {
	for _, step := range steps {
		if step.Kind != KindPost || !step.Done {
			continue
		}
		made := Made{Number: step.Number}
		if made.Receipt, err = decode[Receipt](step.Result); err != nil {
			return nil, err
		}
		if made.Posting, err = decode[finance.Posting](step.Input); err != nil {
			return nil, err
		}
		if made.ID != "" {
			all = append(all, made)
		}
	}
	return all, nil
}

// kept says which postings stay.
func kept(made []Made) string {
	if len(made) == 0 {
		return ""
	}
	rows := make([]string, 0, len(made))
	for _, m := range made {
		rows = append(rows, fmt.Sprintf("%s %s (%s)", m.About, m.Amount, m.ID))
	}
	return " Already posted, and still in the ledger: " + clip(strings.Join(rows, ", "), maxSentence) + "."
}
