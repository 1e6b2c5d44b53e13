// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// The samples.
const (
	firstDelegation = "reconcile-2026-09"
	firstMessage    = "m-71"
	approval        = "approve-2026-09"
	lateQuestion    = "late-question-2026-09"
	revision        = "revise-2026-09"
	reportArtifact  = "report.md"
)

func (d *demo) delegate(ctx context.Context) error {
	if err := d.applySamples(ctx, "month-end"); err != nil {
		return err
	}
	return d.watch(ctx, map[string]v1alpha1.Phase{firstDelegation: v1alpha1.PhaseInputRequired})
}

func (d *demo) applySamples(ctx context.Context, example string) error {
	return d.run(ctx, "apply", "-k", d.short(d.samples()), "--selector="+exampleLabel+"="+example)
}

// answer shows the question, and sends the answer to the same task.
func (d *demo) answer(ctx context.Context) error {
	if err := d.run(ctx, "get", "delegation", firstDelegation, "--output", `jsonpath={.status.question}{"\n"}`); err != nil {
		return err
	}
	if err := d.applySamples(ctx, "approval"); err != nil {
		return err
	}
	err := d.watch(ctx, map[string]v1alpha1.Phase{firstDelegation: v1alpha1.PhaseCompleted, approval: v1alpha1.PhaseCompleted})
	if err != nil {
		return err
	}
	first, err := d.delegation(ctx, firstDelegation)
	if err != nil {
		return err
	}
	second, err := d.delegation(ctx, approval)
	if err != nil {
		return err
	}
	if first.Status.TaskID != second.Status.TaskID {
		return fmt.Errorf("the answer went to task %q and not to %q", second.Status.TaskID, first.Status.TaskID)
	}
	d.printf("Both Delegations are about one task.\n")
	return nil
}

// askTooLate applies a message to the finished task, which the operator must not send.
func (d *demo) askTooLate(ctx context.Context) error {
	if err := d.run(ctx, "apply", "-f", d.short(filepath.Join(d.Root, "config", "samples", "mistakes", lateQuestion+".yaml"))); err != nil {
		return err
	}
	if err := d.watch(ctx, map[string]v1alpha1.Phase{lateQuestion: v1alpha1.PhaseRejected}); err != nil {
		return err
	}
	return d.run(ctx, "get", "delegation", lateQuestion, "--output", `jsonpath={.status.conditions[?(@.type=="Ready")].message}{"\n"}`)
}

// revise follows up the finished task with a new one.
func (d *demo) revise(ctx context.Context) error {
	if err := d.run(ctx, "apply", "-k", d.short(d.samples())); err != nil {
		return err
	}
	if err := d.watch(ctx, map[string]v1alpha1.Phase{revision: v1alpha1.PhaseCompleted}); err != nil {
		return err
	}
	return d.run(ctx, "get", "delegations", "--output", "wide")
}

func (d *demo) showRecovery(ctx context.Context) error {
	err := d.run(ctx, "get", "delegation", firstDelegation, "--output",
		`jsonpath=recoveredBy: {.status.recoveredBy}, attempts: {.status.attempts}, task: {.status.taskId}{"\n"}`)
	if err != nil {
		return err
	}
	first, err := d.delegation(ctx, firstDelegation)
	if err != nil {
		return err
	}
	if first.Status.RecoveredBy != v1alpha1.RecoveredByReplay {
		return fmt.Errorf("status.recoveredBy is %q, want %q: the answer was lost, and the agent deduplicates", first.Status.RecoveredBy, v1alpha1.RecoveredByReplay)
	}
	d.printf("The operator sent the identical message again, and the agent answered with the task that it had made of the first.\n")
	return nil
}

// showReport prints the report from where the operator put it: a short one into the status, a longer one into a ConfigMap.
func (d *demo) showReport(ctx context.Context) error {
	first, err := d.delegation(ctx, firstDelegation)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(first.Status.Artifacts, func(a v1alpha1.ArtifactStatus) bool { return a.Name == reportArtifact })
	if at < 0 {
		return fmt.Errorf("status.artifacts has no %s: %+v", reportArtifact, first.Status.Artifacts)
	}
	switch report := first.Status.Artifacts[at]; {
	case report.Text != "":
		return d.run(ctx, "get", "delegation", firstDelegation, "--output", fmt.Sprintf("jsonpath={.status.artifacts[%d].text}", at))
	case report.ConfigMapRef != nil:
		return d.run(ctx, "get", "configmap", report.ConfigMapRef.Name, "--output", fmt.Sprintf("go-template={{index .data %q}}", report.ConfigMapRef.Key))
	default:
		return fmt.Errorf("the report is neither in the status nor in a ConfigMap: %+v", report)
	}
}

// record is what the agent counted of one message.
type record struct {
	MessageID string   `json:"messageId"`
	Received  int      `json:"received"`
	Accepted  int      `json:"accepted"`
	TaskIDs   []string `json:"taskIds"`
}

// showLedger prints how many tasks the agent made of each message, and holds it against what the Delegations say.
func (d *demo) showLedger(ctx context.Context) error {
	records, err := d.ledger(ctx)
	if err != nil {
		return err
	}
	d.printf("%s/admin/ledger, as a table:\n", d.agent)
	table := tabwriter.NewWriter(d.Out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "MESSAGE\tTIMES RECEIVED\tTASKS")
	for _, r := range records {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\n", r.MessageID, r.Received, r.Accepted)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return d.checkLedger(ctx, records)
}

func (d *demo) checkLedger(ctx context.Context, records []record) error {
	made := map[string][]string{}
	for _, r := range records {
		made[r.MessageID] = append(made[r.MessageID], r.TaskIDs...)
	}
	answer, err := d.delegation(ctx, approval)
	if err != nil {
		return err
	}
	if tasks := made[answer.Spec.MessageID]; len(tasks) > 0 {
		return fmt.Errorf("the agent made the tasks %q of the answer to its question", tasks)
	}
	delete(made, answer.Spec.MessageID)
	for _, name := range []string{firstDelegation, revision} {
		delegation, err := d.delegation(ctx, name)
		if err != nil {
			return err
		}
		id := delegation.Spec.MessageID
		if tasks := made[id]; len(tasks) != 1 || tasks[0] != delegation.Status.TaskID {
			return fmt.Errorf("the agent made the tasks %q of message %q of %s, whose status names %q: want this one alone", tasks, id, name, delegation.Status.TaskID)
		}
		delete(made, id)
	}
	if len(made) > 0 {
		return fmt.Errorf("the agent has tasks of messages that nobody sent: %v", made)
	}
	d.printf("One task for each message that asks for one, none for the answer, and m-90 never came.\n")
	return nil
}

func (d *demo) ledger(ctx context.Context) (records []record, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.agent+"/admin/ledger", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", req.URL, resp.Status)
	}
	return records, json.NewDecoder(resp.Body).Decode(&records)
}

func (d *demo) delegation(ctx context.Context, name string) (*v1alpha1.Delegation, error) {
	out := &v1alpha1.Delegation{}
	return out, d.query(ctx, out, "get", "delegation", name)
}
