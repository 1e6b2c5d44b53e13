// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// idTime is how a time is written in a messageId. In UTC, so that the time zone's name or a change of its rules is not in it.
const idTime = "2006-01-02T15:04Z"

// RunName is the name of the run for a time, as that of a CronJob's Job: two managers that begin it get one object.
func RunName(s *v1alpha1.DelegationSchedule, at time.Time) string {
	return fmt.Sprintf("%s-%d", s.Name, at.Unix()/60)
}

// timeOf is the time that a run was made for, by its name, which nobody can edit.
func timeOf(s *v1alpha1.DelegationSchedule, run *v1alpha1.Delegation) (time.Time, bool) {
	minutes, found := strings.CutPrefix(run.Name, s.Name+"-")
	n, err := strconv.ParseInt(minutes, 10, 64)
	if !found || err != nil {
		return time.Time{}, false
	}
	return time.Unix(n*60, 0).UTC(), true
}

// MessageID is the id of the message of a firing. It has nothing in it that a rebuilt cluster would have otherwise, such as
// the schedule's UID: there the same firing is to be the same message. It begins with the namespace, as it has to at an agent
// that namespaces share, and no part of it can have a slash, so that no two schedules have ids in common.
func MessageID(s *v1alpha1.DelegationSchedule, at time.Time) string {
	parts := []string{s.Namespace}
	if q := s.Spec.MessageIDQualifier; q != "" {
		parts = append(parts, q)
	}
	return strings.Join(append(parts, s.Name, at.UTC().Format(idTime)), "/")
}

// newRun makes the Delegation of a firing.
func newRun(s *v1alpha1.DelegationSchedule, at time.Time) *v1alpha1.Delegation {
	d := &v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{
		Namespace:       s.Namespace,
		Name:            RunName(s, at),
		Labels:          with(s.Spec.Template.Metadata.Labels, v1alpha1.ScheduleLabel, s.Name),
		Annotations:     with(s.Spec.Template.Metadata.Annotations, v1alpha1.ScheduledTimeAnnotation, at.UTC().Format(time.RFC3339)),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("DelegationSchedule"))},
	}}
	s.Spec.Template.Spec.DeepCopyInto(&d.Spec)
	d.Spec.MessageID = MessageID(s, at)
	return d
}

// with is a copy of a map with one more entry.
func with(m map[string]string, key, value string) map[string]string {
	out := make(map[string]string, len(m)+1)
	for k, v := range m {
		out[k] = v
	}
	out[key] = value
	return out
}

// ended reports whether nothing more happens to a run. One that is Unknown has not ended: its message may be with the agent,
// and a person has to decide.
func ended(d *v1alpha1.Delegation) bool { return outbox.Over(&d.Status) }

// removable reports whether a run that has ended needs the operator no more: duplicates of its task are canceled after its end.
func removable(d *v1alpha1.Delegation) bool {
	for _, t := range d.Status.Duplicates {
		if !t.Canceled {
			return false
		}
	}
	return ended(d) && d.DeletionTimestamp == nil
}
