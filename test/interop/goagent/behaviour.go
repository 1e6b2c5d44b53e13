// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// chunkPause is the time before each chunk of a streamed artifact.
const chunkPause = 100 * time.Millisecond

var errThrown = errors.New("told to throw")

// artifactID is that of the only artifact that a task has.
const artifactID a2a.ArtifactID = "answer"

// behaviour publishes what the agent has to say to a message. publish returns false once nobody wants more.
type behaviour func(ctx context.Context, task a2a.TaskInfoProvider, argument int, publish func(a2a.Event) bool)

// behaviours are what the first word of a message's text chooses; js/behaviour.mjs has the same list. "reply" and "throw"
// make no task, "wait" has a gate, and "ask" goes on with the message that answers it: Execute knows them.
var behaviours = map[string]behaviour{
	"complete": func(_ context.Context, task a2a.TaskInfoProvider, _ int, publish func(a2a.Event) bool) {
		finish(task, "42", publish)
	},
	"work": func(ctx context.Context, task a2a.TaskInfoProvider, ms int, publish func(a2a.Event) bool) {
		if publish(state(task, a2a.TaskStateWorking, "")) && pause(ctx, time.Duration(ms)*time.Millisecond) {
			finish(task, "42", publish)
		}
	},
	"ask": func(_ context.Context, task a2a.TaskInfoProvider, _ int, publish func(a2a.Event) bool) {
		publish(state(task, a2a.TaskStateInputRequired, "Which month?"))
	},
	"refuse": func(_ context.Context, task a2a.TaskInfoProvider, _ int, publish func(a2a.Event) bool) {
		publish(state(task, a2a.TaskStateRejected, "This is not for me."))
	},
	"stream": stream,
}

func stream(ctx context.Context, task a2a.TaskInfoProvider, chunks int, publish func(a2a.Event) bool) {
	if !publish(state(task, a2a.TaskStateWorking, "")) {
		return
	}
	for n := 1; n <= chunks; n++ {
		if !pause(ctx, chunkPause) || !publish(artifact(task, fmt.Sprintf("chunk %d\n", n), n > 1, n == chunks)) {
			return
		}
	}
	publish(state(task, a2a.TaskStateCompleted, ""))
}

// finish publishes the artifact and the end.
func finish(task a2a.TaskInfoProvider, text string, publish func(a2a.Event) bool) {
	if publish(artifact(task, text, false, true)) {
		publish(state(task, a2a.TaskStateCompleted, ""))
	}
}

func artifact(task a2a.TaskInfoProvider, text string, appended, last bool) *a2a.TaskArtifactUpdateEvent {
	e := a2a.NewArtifactUpdateEvent(task, artifactID, a2a.NewTextPart(text))
	e.Artifact.Name, e.Append, e.LastChunk = "answer.txt", appended, last
	return e
}

func state(task a2a.TaskInfoProvider, s a2a.TaskState, text string) *a2a.TaskStatusUpdateEvent {
	if text == "" {
		return a2a.NewStatusUpdateEvent(task, s, nil)
	}
	return a2a.NewStatusUpdateEvent(task, s, a2a.NewMessageForTask(a2a.MessageRoleAgent, task, a2a.NewTextPart(text)))
}

// pause reports whether the time passed before the task was canceled, by which the SDK ends the context.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// command splits a message's text into the word that chooses and its number, zero where there is none.
func command(message *a2a.Message) (word string, argument int) {
	words := strings.Fields(textOf(message))
	if len(words) == 0 {
		return "", 0
	}
	if len(words) > 1 {
		argument, _ = strconv.Atoi(words[1]) // no number is zero
	}
	return words[0], argument
}

func textOf(message *a2a.Message) string {
	var texts []string
	for _, p := range message.Parts {
		texts = append(texts, p.Text())
	}
	return strings.Join(texts, " ")
}
