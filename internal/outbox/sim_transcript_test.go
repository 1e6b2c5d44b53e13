// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// tell adds a line to the transcript: when, who, about which Delegation, and what.
func (s *sim) tell(who, object, format string, args ...any) {
	if s.telling {
		s.story = append(s.story, fmt.Sprintf("%14.6fs  %-7s %-6s %s", s.elapsed.Seconds(), who, object, fmt.Sprintf(format, args...)))
	}
}

// transcript replays a seed and tells it.
func transcript(seed uint64, hooks simHooks) (*simViolation, string) {
	s := newSim(seed, hooks, true)
	broken := s.run()
	return broken, strings.Join(s.story, "\n")
}

func tellAction(a Action) string {
	switch a := a.(type) {
	case Send:
		return fmt.Sprintf("Send attempt %d of %s, task %q", a.Attempt.Number, a.Envelope.MessageID, a.Envelope.TaskID)
	case Ask:
		return fmt.Sprintf("Ask %s %s%s", a.Call, a.TaskID, a.Query.MessageID)
	case Record:
		text := "Record " + tellStatus(&v1alpha1.Delegation{Status: a.Status})
		if a.Settles {
			text += ", settles"
		}
		return text
	case Claim:
		return fmt.Sprintf("Claim question %d of %s", a.Claim.Interruption, a.Root.Name)
	case Follow:
		return fmt.Sprintf("Follow %s%s", a.TaskID, tellUntil(a.Until.Sub(start).Seconds(), a.Until.IsZero()))
	case Wait:
		return "Wait" + tellUntil(a.Until.Sub(start).Seconds(), a.Until.IsZero())
	case Release:
		if a.Event != nil {
			return "Release: " + a.Event.Message
		}
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", a), "outbox.")
}

func tellUntil(seconds float64, never bool) string {
	if never {
		return ""
	}
	return fmt.Sprintf(" until %.6fs", seconds)
}

func tellStatus(d *v1alpha1.Delegation) string {
	s := &d.Status
	text := fmt.Sprintf("%s/%s attempts=%d", s.Phase, tellReason(d), s.Attempts)
	if c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionDelivered); c != nil {
		text += " delivered=" + string(c.Status)
	}
	if s.TaskID != "" {
		text += fmt.Sprintf(" task=%s %s interruptions=%d", s.TaskID, s.State, s.Interruptions)
	}
	if s.AnsweredBy != nil {
		text += fmt.Sprintf(" answeredBy=%s/%d", s.AnsweredBy.Name, s.AnsweredBy.Interruption)
	}
	if d.DeletionTimestamp != nil {
		text += " deleted"
	}
	return text
}

func tellReason(d *v1alpha1.Delegation) string {
	if c := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		return c.Reason
	}
	return ""
}

func tellResult(r *Result) string {
	text := fmt.Sprintf("%s %s", r.Call, tellExchange(r.Exchange))
	if r.Call == CallSend {
		text += fmt.Sprintf(" for attempt %d", r.Attempt)
	}
	return text
}

func tellExchange(ex Exchange) string {
	text := strings.TrimSpace(string(ex.Outcome) + " " + ex.Reason)
	if ex.Task != nil {
		text += fmt.Sprintf(" (task %s %s)", ex.Task.ID, ex.Task.State)
	}
	return text
}

func tellView(v simView) string {
	text := fmt.Sprintf("endpoint-%d secret-%d", v.endpoint, v.credentials)
	if v.problem != nil {
		text += " " + v.problem.Reason
	}
	return text
}

func tellSpec(s *v1alpha1.DelegationSpec) string {
	text := fmt.Sprintf("messageId=%q contextId=%q deadline=%s deletion=%s onUnknown=%s", s.MessageID, s.ContextID, s.DeliveryDeadline.Duration, s.DeletionPolicy, s.OnUnknown)
	if s.Continues != nil {
		text += " continues=" + s.Continues.Name
	}
	if len(s.Refines) > 0 {
		text += fmt.Sprintf(" refines=%v", s.Refines)
	}
	if s.ActiveDeadlineSeconds != nil {
		text += fmt.Sprintf(" active=%ds", *s.ActiveDeadlineSeconds)
	}
	if s.NotAfter != nil {
		text += fmt.Sprintf(" notAfter=%.0fs", s.NotAfter.Sub(start).Seconds())
	}
	return text
}
