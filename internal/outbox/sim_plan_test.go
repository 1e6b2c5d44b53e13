// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// simPlan is what kind of schedule a seed is: who takes part, and what goes wrong how often.
type simPlan struct {
	replicas int
	agent    simAgentPlan
	// calm is when the last fault is over, end when the schedule is.
	calm, end time.Duration
	// apiErrors, callErrors, crashes, pauses, lag and queues are how many of a hundred API writes, questions, crash points,
	// sends, watch events and calls are hit.
	apiErrors, callErrors, crashes, pauses, lags, queues int
	// fresh says that the first list of a process is of the latest revision.
	fresh bool
	// questions is how often each task asks.
	questions int
	// meddling is how many Delegations a person touches while they are under way, of a hundred.
	meddling int
}

func (s *sim) drawPlan() simPlan {
	p := simPlan{replicas: pick(s.simDice, 1, 1, 2, 2, 3), agent: s.drawAgent(), calm: s.between(5*time.Second, 20*time.Minute)}
	p.end = p.calm + 50*time.Minute
	if s.chance(1) && p.agent.listing != listFailing {
		p.replicas, p.end = 1, p.calm+80*time.Hour
	}
	p.questions = pick(s.simDice, 0, 0, 1, 1, 2, 3)
	p.meddling = pick(s.simDice, 0, 20, 60)
	// Few schedules have all the weather at once: what one fault hides another would have shown.
	weather := func(percent int) int {
		if s.chance(40) {
			return percent
		}
		return 0
	}
	p.apiErrors, p.callErrors = weather(15), weather(20)
	p.crashes, p.pauses = weather(4), weather(20)
	p.lags, p.queues = weather(30), weather(20)
	return p
}

// drawAgent draws one of the kinds of contract, and an agent that keeps it or does not.
func (s *sim) drawAgent() simAgentPlan {
	p := simAgentPlan{
		timeout: pick(s.simDice, 5*time.Second, 30*time.Second), settle: pick(s.simDice, 10*time.Second, time.Minute),
		retention: pick(s.simDice, 2*time.Minute, 10*time.Minute, 72*time.Hour),
		history:   !s.chance(15), stamps: !s.chance(10), namesContexts: s.chance(10),
		takesAnything: s.chance(30), takesWhileWorking: s.chance(10),
		cancels: pick(s.simDice, cancelAtOnce, cancelAtOnce, cancelSlowly, cancelIgnored, cancelRefused),
		listing: pick(s.simDice, listComplete, listComplete, listLagging, listLagging, listFailing, listUnsupported),
		lookup:  pick(s.simDice, v1alpha1.LookupBestEffort, v1alpha1.LookupBestEffort, v1alpha1.LookupNone),
		faults:  pick(s.simDice, 0, 30, 60, 90),
	}
	if s.chance(20) {
		p.replies = 30
	}
	p.takesAnything = p.takesAnything || p.takesWhileWorking
	// What is not in the list was never taken: so there are no direct replies, and no task is lost.
	authority := func(lag time.Duration) {
		p.lookup, p.history, p.lag, p.replies, p.keeps = v1alpha1.LookupAuthoritative, true, lag, 0, true
		p.listing = pick(s.simDice, listComplete, listLagging)
	}
	p.lag = s.between(time.Millisecond, p.settle)
	switch kind := s.IntN(100); {
	case kind < 40:
		p.promisesDeduplication, p.deduplicates = true, true
		if s.chance(30) {
			authority(p.lag)
		}
	case kind < 60:
		authority(p.lag)
	case kind < 85:
	case kind < 90:
		// It deduplicates and nobody said so.
		p.deduplicates, p.retention = true, 72*time.Hour
	case kind < 95:
		p.promisesDeduplication, p.liar = true, true
	default:
		p.liar = true
		authority(4 * p.settle)
		p.listing = listLagging
	}
	return p
}

// faulty reports whether one of percent faults hits now.
func (s *sim) faulty(percent int) bool { return s.elapsed < s.plan.calm && s.chance(percent) }

func (s *sim) apiLatency() time.Duration { return s.between(time.Millisecond, 8*time.Millisecond) }

func (s *sim) queueDelay() time.Duration { return s.between(time.Microsecond, 4*time.Millisecond) }

// watchLag is how far a cache is behind: a moment, now and then seconds, and seldom a minute.
func (s *sim) watchLag() time.Duration {
	if s.faulty(s.plan.lags) {
		return s.between(10*time.Millisecond, time.Minute)
	}
	return s.between(100*time.Microsecond, 10*time.Millisecond)
}

// laneDelay is how long a call waits for its turn.
func (s *sim) laneDelay() time.Duration {
	if s.faulty(s.plan.queues) {
		return s.between(10*time.Millisecond, 5*time.Minute)
	}
	return s.between(time.Microsecond, time.Millisecond)
}

// pause is how long a process stands still between the journal and the wire.
func (s *sim) pause() time.Duration {
	if s.faulty(s.plan.pauses) {
		return s.between(10*time.Millisecond, 2*s.plan.agent.timeout)
	}
	return s.between(time.Microsecond, 100*time.Microsecond)
}

// wireDelay is how long a message takes to the agent or back. With pauses it takes long now and then.
func (s *sim) wireDelay() time.Duration {
	if s.faulty(s.plan.pauses) {
		return s.between(10*time.Millisecond, s.plan.agent.timeout)
	}
	return s.between(time.Millisecond, 50*time.Millisecond)
}

// mayCrash is called between any two effects of a replica.
func (s *sim) mayCrash(r *simReplica) {
	if r.up && s.faulty(s.plan.crashes) {
		r.crash()
	}
}
