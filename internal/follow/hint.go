// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// hintGap is the least time between two looks at a task that hints ask for: many hints are one look.
const hintGap = 250 * time.Millisecond

// taskOf names an agent's task. A Delegation and its continuations follow the same one.
type taskOf struct {
	agent types.UID
	task  string
}

func (s *Subject) taskOf() taskOf { return taskOf{s.AgentID, s.TaskID} }

// Hint says that an agent's task may have changed: who follows it looks at it soon. What the hint says is not believed, so
// that one that is forged, late, doubled or out of order costs a look and nothing else.
func (f *Follower) Hint(agent types.UID, task string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hint(agent, task)
}

// hint is Hint for a caller who holds the lock.
func (f *Follower) hint(agent types.UID, task string) {
	for uid := range f.byTask[taskOf{agent, task}] {
		t := f.tracked[uid]
		if t.hinted {
			continue
		}
		t.hinted = true
		if !t.busy {
			f.queue.AddAfter(uid, f.untilNext(t))
		}
	}
}

// untilNext is how long a look that a hint asks for has to wait. The caller holds the lock.
func (f *Follower) untilNext(t *track) time.Duration {
	return max(0, t.notBefore.Sub(f.clock.Now()))
}

// remember and forget keep the two indexes of what is followed. The caller holds the lock.
func (f *Follower) remember(t *track) {
	f.tracked[t.Key.UID] = t
	key := t.taskOf()
	if f.byTask[key] == nil {
		f.byTask[key] = map[types.UID]bool{}
		f.count(key.agent, 1)
	}
	f.byTask[key][t.Key.UID] = true
}

func (f *Follower) forget(uid types.UID) {
	t := f.tracked[uid]
	if t == nil {
		return
	}
	delete(f.tracked, uid)
	key := t.taskOf()
	delete(f.byTask[key], uid)
	if len(f.byTask[key]) == 0 {
		delete(f.byTask, key)
		f.streams.drop(key)
		delete(f.sweeps[key.agent].listed, key.task)
		f.count(key.agent, -1)
	}
}
