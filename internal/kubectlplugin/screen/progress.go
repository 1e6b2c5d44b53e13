// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/kubectlplugin/standing"
)

const (
	maxDetail = 1024
	nameWidth = 24
)

// Progress is one line about a Delegation, without what changes by itself as time goes by: two that are equal need not
// both be shown.
func Progress(d *v1alpha1.Delegation, namespaces bool) string {
	phase := cmp.Or(string(d.Status.Phase), "Pending")
	return strings.TrimRight(fmt.Sprintf("%s  %-13s  %s", pad(label(d, namespaces), nameWidth), phase, Line(detail(d), maxDetail)), " ")
}

// Live is the line with the time that it has taken, for a terminal of so many columns.
func Live(d *v1alpha1.Delegation, namespaces bool, now time.Time, columns int) string {
	began, end := d.CreationTimestamp.Time, now
	if d.Status.CompletionTime != nil {
		end = d.Status.CompletionTime.Time
	}
	phase := cmp.Or(string(d.Status.Phase), "Pending")
	took := duration.HumanDuration(end.Sub(began))
	return Cut(fmt.Sprintf("%s  %-13s  %5s  %s", pad(label(d, namespaces), nameWidth), phase, took, Line(detail(d), maxDetail)), columns)
}

func label(d *v1alpha1.Delegation, namespaces bool) string {
	if namespaces {
		return d.Namespace + "/" + d.Name
	}
	return d.Name
}

func pad(s string, to int) string { return fmt.Sprintf("%-*s", to, s) }

// detail is what there is to say beyond the phase.
func detail(d *v1alpha1.Delegation) string {
	st := &d.Status
	switch st.Phase {
	case "", v1alpha1.PhasePending:
		return reasoned(d)
	case v1alpha1.PhaseSending:
		text := standing.Reason(d)
		if st.Attempts > 1 {
			text += fmt.Sprintf(", attempt %d", st.Attempts)
		}
		if st.LastError != "" {
			text += ": " + st.LastError
		}
		return text
	case v1alpha1.PhaseInputRequired, v1alpha1.PhaseAuthRequired:
		if by := st.AnsweredBy; by != nil && !standing.Asks(d) {
			return "answered by " + by.Name
		}
		return "asks: " + cmp.Or(st.Question, "(no text)")
	case v1alpha1.PhaseSubmitted, v1alpha1.PhaseWorking:
		return cmp.Or(different(standing.Reason(d), string(st.Phase)), st.StateMessage, "task "+st.TaskID)
	case v1alpha1.PhaseCompleted:
		return completed(d)
	}
	return reasoned(d)
}

// outcome is what an Unknown one is about, without the commands that decide: there is a shorter one.
func outcome(d *v1alpha1.Delegation) string {
	about, _, _ := strings.Cut(standing.Why(d), ";")
	return about
}

func completed(d *v1alpha1.Delegation) string {
	switch n := len(d.Status.Artifacts); {
	case n > 0:
		return Count(n, "artifact", "artifacts")
	case d.Status.Reply != "":
		return "reply: " + d.Status.Reply
	}
	return d.Status.StateMessage
}

// reasoned is the reason with the condition's message, which names what ends a stop.
func reasoned(d *v1alpha1.Delegation) string {
	reason, why := different(standing.Reason(d), string(d.Status.Phase)), standing.Why(d)
	if d.Status.Phase == v1alpha1.PhaseUnknown {
		why = outcome(d)
	}
	if reason == "" || why == "" {
		return reason + why
	}
	return reason + ": " + why
}

func different(s, from string) string {
	if s == from {
		return ""
	}
	return s
}
