// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/schedule"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

func begun(at time.Time) func(*v1alpha1.DelegationSchedule) bool {
	return func(s *v1alpha1.DelegationSchedule) bool {
		return s.Status.LastScheduleTime != nil && s.Status.LastScheduleTime.Time.Equal(at) && len(s.Status.Active) == 0
	}
}

// requireOneTask requires one run of a schedule, under the id of its firing, and one task of it.
func requireOneTask(t *testing.T, s *harness.Space, agent *harness.Agent, o *v1alpha1.DelegationSchedule, at time.Time) {
	t.Helper()
	runs := s.Runs()[o.Name]
	if len(runs) != 1 || runs[0].Name != schedule.RunName(o, at) || runs[0].Spec.MessageID != schedule.MessageID(o, at) {
		t.Fatalf("%s has %d runs: %+v", o.Name, len(runs), runs)
	}
	r := agent.Record(runs[0].Spec.MessageID)
	if r.Accepted != 1 || r.Bodies != 1 || r.TaskIDs[0] != runs[0].Status.TaskID || runs[0].Status.Phase != v1alpha1.PhaseCompleted {
		t.Errorf("%s; the run: %s", r, harness.Describe(&runs[0]))
	}
}

// Two managers find the same firings due at the same second. The agent does not deduplicate.
func TestOneTaskPerFiringOfTwoManagers(t *testing.T) {
	t.Parallel()
	const schedules = 10
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--dedup=false")
	s.StartManager()
	s.StartManager()
	cron, at := harness.OnceSoon()
	s.Create(s.RemoteAgent(agent.URL).Build())
	for i := range schedules {
		o := s.Schedule(cron, s.Reconciliation(fmt.Sprintf("s-%d", i)).Build())
		o.Spec.ConcurrencyPolicy = []v1alpha1.ConcurrencyPolicy{v1alpha1.ConcurrencyAllow, v1alpha1.ConcurrencyForbid, v1alpha1.ConcurrencyReplace}[i%3]
		s.Create(o)
	}
	for i := range schedules {
		o := s.AwaitSchedule(fmt.Sprintf("s-%d", i), "to have had its run", begun(at))
		requireOneTask(t, s, agent, o, at)
		requireStatus(t, o, status.CurrentStatus)
	}
	if n := len(agent.Ledger()); n != schedules {
		t.Errorf("the agent saw %d messages; want %d", n, schedules)
	}
}

// The manager is killed with a write of the firing in the API server, and does not know of it.
func TestKilledInTheMiddleOfAFiring(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		write harness.Write
		runs  int
	}{
		{name: "before the run is created", write: harness.UpdateScheduleStatus, runs: 0},
		{name: "after the run is created", write: harness.CreateDelegation, runs: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := cluster.Space(t)
			agent := harness.StartAgent(t, "--dedup=false")
			proxy := s.StartAPIProxy()
			manager := s.StartManagerBehind(proxy)
			cron, at := harness.OnceSoon()
			s.Create(s.RemoteAgent(agent.URL).Build(), s.Schedule(cron, s.Reconciliation("s").Build()))
			s.AwaitSchedule("s", "to wait for its time", func(o *v1alpha1.DelegationSchedule) bool { return o.Status.NextScheduleTime != nil })
			kept := proxy.KeepBack(c.write)
			select {
			case <-kept:
			case <-time.After(harness.FiringPatience):
				t.Fatalf("no %v", c.write)
			}
			manager.Kill()
			if n := len(s.Runs()["s"]); n != c.runs {
				t.Fatalf("%d runs at the crash; want %d", n, c.runs)
			}
			s.StartManager()
			o := s.AwaitSchedule("s", "to have had its run", begun(at))
			requireOneTask(t, s, agent, o, at)
			if n := len(agent.Ledger()); n != 1 {
				t.Errorf("the agent saw %d messages", n)
			}
		})
	}
}

// A restored cluster knows neither that the firing was, nor its run. It sends nothing new: the messageId is the same, and the
// agent, which does not deduplicate, is asked for it first.
func TestARestoredScheduleFindsItsTask(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	agent := harness.StartAgent(t, "--dedup=false")
	manager := s.StartManager()
	cron, at := harness.OnceSoon()
	s.Create(s.RemoteAgent(agent.URL).Build(), s.Schedule(cron, s.Reconciliation("s").Build()))
	o := s.AwaitSchedule("s", "to have had its run", begun(at))
	requireOneTask(t, s, agent, o, at)
	run := s.Runs()["s"][0]
	s.Delete(&run)
	s.AwaitGone(&run)
	harness.Throughout(t, 2*time.Second, "no second run, for status.lastScheduleTime", func(context.Context) (bool, string) {
		return len(s.Runs()["s"]) == 0, "a run"
	})
	manager.Stop()
	if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Fatal(err)
	}
	o.Status = v1alpha1.DelegationScheduleStatus{}
	if err := s.Client.Status().Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	s.StartManager()
	o = s.AwaitSchedule("s", "to have its run again", begun(at))
	requireOneTask(t, s, agent, o, at)
	agent.Require(schedule.MessageID(o, at), 1, 1)
}
