// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/push"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

const (
	// pause is how long a task waits after the operator knows of it, so that looks which are under way come to their end.
	pause = time.Second
	// deaf is how long the end of a task stays unknown where nobody tells of it.
	deaf = 3 * time.Second
)

// takingPushes are the flags of a manager that takes pushes.
func takingPushes(t *testing.T) []string {
	t.Helper()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, bytes.Repeat([]byte("k"), push.KeyBytes), 0o600); err != nil {
		t.Fatal(err)
	}
	address := harness.FreeAddress(t)
	return []string{"--push-bind-address=" + address, "--push-url=http://" + address + "/a2a", "--push-key-file=" + key}
}

// byStream has the end of a task told by a stream, and by one only.
func byStream(t *testing.T, b *bench) string {
	d := b.released(t, streamed, 1)
	requireArtifact(t, d, "42")
	return b.outcome(d)
}

// byPush has it told by a push.
func byPush(t *testing.T, b *bench) string {
	d := b.released(t, pushed, 0)
	requireArtifact(t, d, "42")
	return b.outcome(d)
}

// released lets a task go on when the operator knows all there is to know of it, and waits until it is seen to have ended. The
// next look is due long after the wait: somebody has told of the end.
func (b *bench) released(t *testing.T, suffix string, streams int) *v1alpha1.Delegation {
	t.Helper()
	b.release(t, suffix, streams)
	d := b.ended("wait" + suffix)
	if n := b.agent.Record(d.Spec.MessageID).Subscribed; n != streams {
		t.Errorf("%d streams; want %d", n, streams)
	}
	return d
}

// notTold has nobody tell. It shows that the flows before find something out.
func notTold(t *testing.T, b *bench) string {
	name := b.release(t, silent, 0)
	b.space.Remains(name, deaf, "not to be finished", func(d *v1alpha1.Delegation) bool { return !d.Status.Phase.Finished() })
	return "not seen"
}

// release sends a message whose task waits, and releases it. It returns the Delegation's name.
func (b *bench) release(t *testing.T, suffix string, streams int) string {
	t.Helper()
	what := "wait" + suffix
	name := b.name(what)
	b.space.Create(b.message(what, suffix, "wait").Build())
	d := b.space.Await(name, "to be bound", func(d *v1alpha1.Delegation) bool { return d.Status.TaskID != "" })
	harness.Eventually(t, harness.Patience, "the agent to be asked for a stream", func(context.Context) (bool, string) {
		n := b.agent.Record(d.Spec.MessageID).Subscribed
		return n >= streams, fmt.Sprint(n)
	})
	b.space.Remains(name, pause, "not to be finished", func(d *v1alpha1.Delegation) bool { return !d.Status.Phase.Finished() })
	b.agent.Release(d.Status.TaskID)
	return name
}
