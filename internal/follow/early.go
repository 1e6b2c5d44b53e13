// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import "k8s.io/apimachinery/pkg/types"

// HintDelegation is Hint for whoever knows the Delegation and not the task. One that is not followed yet, since the agent
// was heard of before its answer to the message was recorded, is looked at as soon as it is. The hint is kept until
// then, or until Drop.
func (f *Follower) HintDelegation(uid types.UID) {
	f.mu.Lock()
	t := f.tracked[uid]
	if t == nil {
		f.early[uid] = true
		f.mu.Unlock()
		return
	}
	agent, task := t.AgentID, t.TaskID
	f.mu.Unlock()
	f.Hint(agent, task)
}

// hintedEarly takes the hint that came for a Delegation before it was followed. The caller holds the lock.
func (f *Follower) hintedEarly(uid types.UID) bool {
	early := f.early[uid]
	delete(f.early, uid)
	return early
}
