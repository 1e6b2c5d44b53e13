// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/finance/database"
)

// awaitAgent keeps an agent running until something happens.
func (l *life) awaitAgent(happens <-chan struct{}) {
	l.t.Helper()
	for {
		select {
		case <-happens:
			return
		case <-l.ctx.Done():
			l.t.Fatal("the posting does not come")
		case <-time.After(5 * time.Millisecond):
			l.agent()
		}
	}
}

func (l *life) cancel(id a2a.TaskID) <-chan *a2a.Task {
	done := make(chan *a2a.Task, 1)
	client := l.agent()
	go func() {
		task, err := client.CancelTask(l.ctx, &a2a.CancelTaskRequest{ID: id})
		if err != nil {
			l.t.Errorf("CancelTask: %v", err)
		}
		done <- task
	}()
	return done
}

// A cancellation waits for the posting under way, and nothing is posted after it; also after a restart, when nobody
// knows whether the posting was made.
func TestCanceledInStepSix(t *testing.T) {
	for name, crashes := range map[string][]crash{
		"running": nil, "restarted, not sent": {{6, notSent}}, "restarted, made": {{6, answerLost}}, "restarted, not recorded": {{6, notRecorded}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
			defer cancel()
			dir := filepath.Join(t.TempDir(), "data")
			r := startRelay(t, dir, crashes...)
			l := live(ctx, t, dir, r.URL)
			underWay := newHeld()
			if crashes == nil {
				r.hold(6, underWay)
			}
			r.kill = func() {
				r.held[6] = underWay // under the relay's lock; the next agent may be there before we are
				l.kill()
			}
			id := l.reconcile()
			l.awaitAgent(underWay.arrived)
			canceled := l.cancel(id)
			l.awaitCancellation()
			if task, err := l.agent().GetTask(ctx, &a2a.GetTaskRequest{ID: id}); err != nil || task.Status.State != a2a.TaskStateWorking {
				t.Errorf("with the posting under way: %+v, %v", task, err)
			}
			select {
			case <-canceled:
				t.Error("canceled before the posting was made")
			default:
			}
			close(underWay.release)
			task := <-canceled
			if task == nil || task.Status.State != a2a.TaskStateCanceled {
				t.Fatalf("canceled: %+v", task)
			}
			said := task.Status.Message.Parts[0].Text()
			postings := r.postings()
			if len(postings) != 2 || postings[5].ID == "" || postings[6].ID == "" {
				t.Errorf("postings %+v", postings)
			}
			for _, p := range postings {
				if !strings.Contains(said, p.Posting.About+" "+p.Posting.Amount.String()) {
					t.Errorf("the status does not say that %s was posted: %s", p.Posting.About, said)
				}
			}
			l.kill() // nothing goes on with it
			if again := l.until(id, a2a.TaskStateCanceled); len(again.Artifacts) != 0 || len(r.postings()) != 2 {
				t.Errorf("after another restart: %d artifacts, %d postings", len(again.Artifacts), len(r.postings()))
			}
		})
	}
}

// A posting that can't have reached the ledger doesn't hold a cancellation up.
func TestCanceledWithoutALedger(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	closed, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	l := live(ctx, t, filepath.Join(t.TempDir(), "data"), "http://"+closed.Addr().String())
	id := l.reconcile()
	l.until(id, a2a.TaskStateWorking)
	task := <-l.cancel(id)
	if task == nil || task.Status.State != a2a.TaskStateCanceled || task.Status.Message.Parts[0].Text() != "Canceled on request." {
		t.Errorf("canceled: %+v", task)
	}
}

// Two agents on one data directory would post for each other.
func TestDataDirInUse(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dir := t.TempDir()
	process(ctx, t, io.Discard, "--data-dir", dir)
	err := run(ctx, []string{"--data-dir", dir}, io.Discard)
	if !errors.Is(err, database.ErrLocked) {
		t.Errorf("error %v, want that the directory is in use", err)
	}
}
