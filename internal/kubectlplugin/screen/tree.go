// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/kubectlplugin/standing"
)

// maxSaid is how many columns of somebody's words a tree shows.
const maxSaid = 160

// Tree shows a conversation: each Delegation with what was said and what came of it, and below it those that follow it.
func Tree(command string, root *Node) string {
	var out strings.Builder
	drawTree(&out, command, root, "", "")
	return out.String()
}

func drawTree(out *strings.Builder, command string, n *Node, first, rest string) {
	out.WriteString(first + heading(n) + "\n")
	if n.Above {
		return
	}
	bar := "   "
	if len(n.Children) > 0 {
		bar = "│  "
	}
	for _, line := range facts(command, n) {
		out.WriteString(strings.TrimRight(rest+bar+line, " ") + "\n")
	}
	for i, child := range n.Children {
		if i == len(n.Children)-1 {
			drawTree(out, command, child, rest+"└─ ", rest+"   ")
		} else {
			drawTree(out, command, child, rest+"├─ ", rest+"│  ")
		}
	}
}

func heading(n *Node) string {
	text := ""
	if n.Relation != "" {
		text = n.Relation + ": "
	}
	text += n.Name
	switch {
	case n.Above:
		return text + "  (see above)"
	case n.Delegation == nil:
		return text + "  (not there)"
	}
	text += "  " + cmp.Or(string(n.Delegation.Status.Phase), "Pending")
	if reason := different(standing.Reason(n.Delegation), string(n.Delegation.Status.Phase)); reason != "" {
		text += " (" + Line(reason, maxSaid) + ")"
	}
	if n.Relation == "" {
		text += "  at " + agentOf(n.Delegation)
	}
	if len(n.Also) > 0 {
		text += "  also refines " + strings.Join(n.Also, ", ")
	}
	return text
}

// facts are the lines below a heading.
func facts(command string, n *Node) []string {
	d := n.Delegation
	if d == nil {
		return nil
	}
	lines := []string{"message   " + said(d)}
	add := func(label, text string) {
		if text != "" {
			lines = append(lines, fmt.Sprintf("%-9s %s", label, Line(text, maxSaid)))
		}
	}
	// The task of an answer is that of the Delegation above it.
	if n.Relation != "continues" {
		add("task", d.Status.TaskID)
	}
	add("sent", delivery(d))
	add("asks", d.Status.Question)
	if d.Status.Question == "" {
		add("asked", asked(d))
	} else if by := d.Status.AnsweredBy; by != nil && !standing.Asks(d) {
		add("answer", by.Name)
	}
	add("reply", d.Status.Reply)
	// What the agent says of the task is said once, and a question is no news beside itself.
	if n.Relation != "continues" && d.Status.Question == "" {
		add("says", d.Status.StateMessage)
	}
	if why := stopped(d); why != "" {
		// It may name the command that ends the stop, which is of no use in half.
		lines = append(lines, "why       "+Line(why, maxDetail))
	}
	if n.Relation != "continues" {
		for _, a := range d.Status.Artifacts {
			add("artifact", strings.Join(compact(cmp.Or(a.Name, a.ArtifactID), Size(a.Size), Where(a)), ", "))
		}
	}
	if standing.Asks(d) && n.Relation != "continues" || d.Status.Phase == v1alpha1.PhaseUnknown {
		add("next", standing.Next(command, d))
	}
	return lines
}

// said sums up the message: its first text, and how much there is besides.
func said(d *v1alpha1.Delegation) string {
	text, more := "", 0
	for _, p := range d.Spec.Message.Parts {
		if p.Text != nil && p.Filename == "" && text == "" {
			text = Line(*p.Text, maxSaid)
			continue
		}
		more++
	}
	switch {
	case text == "":
		return Count(more, "part", "parts")
	case more > 0:
		return fmt.Sprintf("“%s” and %s", text, Count(more, "part", "parts"))
	}
	return "“" + text + "”"
}

// delivery says how the message came to the agent where it was not at the first try.
func delivery(d *v1alpha1.Delegation) string {
	var facts []string
	if d.Status.Attempts > 1 {
		facts = append(facts, fmt.Sprintf("%d attempts", d.Status.Attempts))
	}
	if d.Status.RecoveredBy != "" {
		facts = append(facts, "recovered by "+string(d.Status.RecoveredBy))
	}
	for _, dup := range d.Status.Duplicates {
		facts = append(facts, "the agent made a second task of it: "+dup.TaskID)
	}
	return strings.Join(facts, ", ")
}

func asked(d *v1alpha1.Delegation) string {
	if d.Status.Interruptions == 0 || d.Spec.Continues != nil {
		return ""
	}
	text := Count(int(d.Status.Interruptions), "time", "times")
	if by := d.Status.AnsweredBy; by != nil {
		text += ", answered by " + by.Name
	}
	return text
}

// stopped is why a Delegation is not at its agent.
func stopped(d *v1alpha1.Delegation) string {
	switch d.Status.Phase {
	case v1alpha1.PhasePending, v1alpha1.PhaseRejected, v1alpha1.PhaseUndelivered, "":
		return standing.Why(d)
	case v1alpha1.PhaseUnknown:
		return outcome(d)
	}
	return ""
}

func compact(texts ...string) []string {
	var out []string
	for _, t := range texts {
		if t != "" {
			out = append(out, t)
		}
	}
	return out
}
