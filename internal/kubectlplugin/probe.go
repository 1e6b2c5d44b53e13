// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kubectlplugin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/kubectlplugin/compose"
	"github.com/delegation-dev/delegation-operator/internal/kubectlplugin/screen"
	"github.com/delegation-dev/delegation-operator/internal/kubectlplugin/trial"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// probing is one run of agent probe.
type probing struct {
	*plugin
	yes, apply bool
	format     string
	timeout    time.Duration
	retention  string
}

func (p *plugin) agent() *cobra.Command {
	parent := &cobra.Command{Use: "agent", Short: "Find out about the agents of RemoteAgents"}
	t := &probing{plugin: p}
	c := &cobra.Command{
		Use: "probe REMOTEAGENT", Short: "Send a harmless message twice, and see what the agent makes of it",
		Long: "Send one harmless message twice, with the same messageId, to the agent that a RemoteAgent names, and tell whether the agent\n" +
			"deduplicates, keeps a history, takes contextIds and lists its tasks. The tasks that were made are canceled. It goes from this\n" +
			"machine, so the manager's --egress-allow and --egress-deny do not apply; credentials are those that the RemoteAgent names,\n" +
			"read with your own rights. One trial is evidence and no promise: ask the agent's owner before you rely on it.",
		Example: fmt.Sprintf("  %[1]s agent probe finance\n  %[1]s agent probe finance --yes -o yaml > contract.yaml\n"+
			"  kubectl patch remoteagent finance --type=merge --patch-file contract.yaml", p.called),
		Args:              p.arguments(1, 1, "REMOTEAGENT"),
		RunE:              func(c *cobra.Command, args []string) error { return t.run(c.Context(), named(args)[0]) },
		ValidArgsFunction: p.names(remoteAgents, 1),
	}
	c.Flags().BoolVarP(&t.yes, "yes", "y", false, "send without a question")
	c.Flags().BoolVar(&t.apply, "apply", false, "write what was seen into spec.contract")
	c.Flags().StringVarP(&t.format, "output", "o", "", "yaml or json: print the patch of the RemoteAgent; the report goes to standard error then")
	c.Flags().DurationVar(&t.timeout, "timeout", 30*time.Second, "how long to wait for each answer")
	c.Flags().StringVar(&t.retention, "retention", "", "how long the agent's owner says that a messageId is remembered; what the card says, else 10m")
	complete(c, "output", fixed("yaml", "json"))
	parent.AddCommand(c)
	return parent
}

func (t *probing) check() error {
	if t.format != "" && t.format != "yaml" && t.format != "json" {
		return &compose.Error{Field: "--output", Problem: fmt.Sprintf("there is no %q", t.format), Remedy: "give yaml or json"}
	}
	if t.timeout <= 0 {
		return &compose.Error{Field: "--timeout", Problem: "it is not positive", Remedy: "give a time such as 30s"}
	}
	if t.retention == "" {
		return nil
	}
	if d, err := time.ParseDuration(t.retention); err != nil || d < time.Second {
		return &compose.Error{Field: "--retention", Problem: fmt.Sprintf("%q is no time of at least 1s", t.retention), Remedy: "write one such as 72h"}
	}
	return nil
}

func (t *probing) run(ctx context.Context, name string) error {
	if err := t.check(); err != nil {
		return err
	}
	k, err := t.connect()
	if err != nil {
		return err
	}
	ra := &v1alpha1.RemoteAgent{}
	if err := k.Get(ctx, client.ObjectKey{Namespace: k.namespace, Name: name}, ra); err != nil {
		return explain(err)
	}
	target, err := t.reach(ctx, k, ra)
	if err != nil {
		return err
	}
	defer target.client.Close()
	messageID, contextID, fallback := "probe-"+uuid.NewString(), "probe-"+uuid.NewString(), "probe-"+uuid.NewString()
	t.warn(ra, target, messageID, contextID)
	if err := t.confirmed(); err != nil {
		return err
	}
	agent := trial.Agent{Client: target.client, Lists: remote.Lists(target.endpoint), Timeout: t.timeout}
	evidence, err := agent.Run(ctx, messageID, contextID, fallback)
	t.cleanUp(ctx, agent, evidence)
	if err != nil {
		return err
	}
	report := trial.Judge(evidence)
	t.tell("%s", screen.Table(report.Lines()))
	return t.conclude(ctx, k, ra, report, target.retention)
}

// warn says what will be sent, before it is.
func (t *probing) warn(ra *v1alpha1.RemoteAgent, target *target, messageID, contextID string) {
	e := target.endpoint
	t.note("This sends one message twice to the agent of RemoteAgent %s, from this machine%s:", ra.Name, target.as)
	t.note("  to         %s (%s %s)", screen.Line(remote.PublicURL(e.URL), 200), e.ProtocolBinding, e.ProtocolVersion)
	t.note("  message    %s", remote.TrialText)
	t.note("  messageId  %s", messageID)
	t.note("  contextId  %s", contextID)
	t.note("The agent may make one task of it, or two, and do with them what it does; they are canceled afterwards, if it lets them be.")
}

// confirmed asks for a yes.
func (t *probing) confirmed() error {
	if t.yes {
		return nil
	}
	_, _ = fmt.Fprint(t.ErrOut, "Send it? [y/N] ")
	line, err := bufio.NewReader(t.In).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); answer == "y" || answer == "yes" {
		return nil
	}
	if err != nil {
		return errors.New("nothing was sent: there is nobody to ask; --yes sends without a question")
	}
	return errors.New("nothing was sent")
}

// cleanUp cancels what was made and says so, also when the trial was interrupted: a context of its own bounds it.
func (t *probing) cleanUp(ctx context.Context, agent trial.Agent, e trial.Evidence) {
	ids := e.Tasks()
	if len(ids) == 0 {
		t.note("No task is known to have been made of message %s.", e.MessageID)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*t.timeout)
	defer cancel()
	for _, id := range ids {
		t.note("Task %s was made; %s.", screen.Line(id, 200), agent.Cancel(ctx, id))
	}
}

// conclude prints the patch, and applies it where that was asked for.
func (t *probing) conclude(ctx context.Context, k *cluster, ra *v1alpha1.RemoteAgent, report trial.Report, card string) error {
	retention := card
	if d := ra.Spec.Contract.Deduplication; d != nil && d.Mode == v1alpha1.DeduplicationMessageID && d.Retention.Duration > 0 {
		retention = d.Retention.Duration.String()
	}
	if t.retention != "" {
		retention = t.retention
	}
	if retention == "" {
		retention = "10m"
	}
	contract, notes := report.Contract(ra.Spec.Contract, retention)
	if len(contract) == 0 {
		t.note("Nothing is certain enough to be written down.")
		return nil
	}
	patch := map[string]any{"spec": map[string]any{"contract": contract}}
	if err := t.print(ra, patch, notes); err != nil {
		return err
	}
	if !t.apply {
		return nil
	}
	// What was seen is true of the endpoint that was read before. The patch that is printed has no version: it is reviewed first.
	patch["metadata"] = map[string]any{"resourceVersion": ra.ResourceVersion}
	text, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	if err := k.Patch(ctx, ra, client.RawPatch(types.MergePatchType, text)); err != nil {
		return explain(err)
	}
	t.note("remoteagent.%s/%s patched", v1alpha1.GroupVersion.Group, ra.Name)
	return nil
}

// print shows the patch to be reviewed.
func (t *probing) print(ra *v1alpha1.RemoteAgent, patch map[string]any, notes []string) error {
	if t.format == "json" {
		text, err := json.MarshalIndent(patch, "", "    ")
		t.printf("%s\n", text)
		return err
	}
	text, err := yaml.Marshal(patch)
	if err != nil {
		return err
	}
	head := fmt.Sprintf("# Seen in one trial. To be reviewed, and then: kubectl patch remoteagent -n %s %s --type=merge --patch-file FILE\n", ra.Namespace, ra.Name)
	for _, n := range notes {
		head += "# " + n + "\n"
	}
	if t.format == "" {
		t.tell("\n")
	}
	t.printf("%s%s", head, text)
	return nil
}

// tell is for people: beside the output where that is for a program.
func (t *probing) tell(format string, args ...any) {
	if t.format != "" {
		_, _ = fmt.Fprintf(t.ErrOut, format, args...)
		return
	}
	t.printf(format, args...)
}
