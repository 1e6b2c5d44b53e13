// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// scheduled builds the manifest of a small, valid DelegationSchedule, and changes it.
func scheduled(changes ...change) *unstructured.Unstructured {
	u := manifest("DelegationSchedule", map[string]any{
		"schedule": "30 6 1 * *",
		"template": part("spec", part(
			"agentRef", part("name", "finance"),
			"message", part("parts", []any{part("text", "Reconcile the last month")}),
		)),
	}, changes)
	return u
}

func TestScheduleTimes(t *testing.T) {
	cron := func(s string) *unstructured.Unstructured { return scheduled(set(s, "spec", "schedule")) }
	zone := func(s string) *unstructured.Unstructured { return scheduled(set(s, "spec", "timeZone")) }
	const schedule, timeZone = "spec.schedule", "spec.timeZone"
	run(t, []row{
		{name: "five fields", manifest: scheduled()},
		{name: "all that a field can have", manifest: cron("*/5,7 6-8 1,15 JAN-mar ?")},
		{name: "@hourly", manifest: cron("@hourly")},
		{name: "@every depends on when it began", manifest: cron("@every 5m"), field: schedule},
		{name: "another word", manifest: cron("@fortnightly"), field: schedule},
		{name: "four fields", manifest: cron("6 1 * *"), field: schedule},
		{name: "six fields", manifest: cron("0 30 6 1 * *"), field: schedule},
		{name: "a zone in the schedule", manifest: cron("TZ=Europe/Berlin 30 6 1 * *"), field: schedule},
		{name: "what the parser panics at", manifest: cron("CRON_TZ=0"), field: schedule},
		{name: "a line break", manifest: cron("30 6 1 *\n*"), field: schedule},
		{name: "empty", manifest: cron(""), field: schedule},
		{name: "none", manifest: scheduled(unset("spec", "schedule")), field: schedule},
		{name: "too long", manifest: cron(strings.Repeat("1,", 130) + "1 * * * *"), field: schedule},
		{name: "a zone", manifest: zone("Europe/Berlin")},
		{name: "a long zone", manifest: zone("America/Argentina/ComodRivadavia")},
		{name: "UTC", manifest: zone("Etc/GMT+5")},
		{name: "the machine's zone", manifest: zone("Local"), field: timeZone},
		{name: "a path", manifest: zone("../../etc/passwd"), field: timeZone},
		{name: "an absolute path", manifest: zone("/etc/localtime"), field: timeZone},
		{name: "an empty zone", manifest: zone(""), field: timeZone},
	})
}

func TestScheduleNumbers(t *testing.T) {
	spec := func(v any, field string) *unstructured.Unstructured { return scheduled(set(v, "spec", field)) }
	run(t, []row{
		{name: "Replace", manifest: spec("Replace", "concurrencyPolicy")},
		{name: "another policy", manifest: spec("Queue", "concurrencyPolicy"), field: "spec.concurrencyPolicy"},
		{name: "no time to begin", manifest: spec(int64(0), "startingDeadlineSeconds"), field: "spec.startingDeadlineSeconds"},
		{name: "a second", manifest: spec(int64(1), "startingDeadlineSeconds")},
		{name: "no history", manifest: spec(int64(0), "successfulRunsHistoryLimit")},
		{name: "less than no history", manifest: spec(int64(-1), "failedRunsHistoryLimit"), field: "spec.failedRunsHistoryLimit"},
		{name: "a qualifier", manifest: spec("east-1", "messageIdQualifier")},
		{name: "a qualifier with a slash", manifest: spec("a/b", "messageIdQualifier"), field: "spec.messageIdQualifier"},
		{name: "the longest name", manifest: scheduled(set(strings.Repeat("s", 52), "metadata", "name"))},
		{name: "a name that leaves no place for the time", manifest: scheduled(set(strings.Repeat("s", 53), "metadata", "name")), field: "<nil>"},
	})
}

func TestScheduleTemplate(t *testing.T) {
	spec := func(v any, field string) *unstructured.Unstructured {
		return scheduled(set(v, "spec", "template", "spec", field))
	}
	metadata := func(v map[string]any, field string) *unstructured.Unstructured {
		return scheduled(set(v, "spec", "template", "metadata", field))
	}
	const template = "spec.template.spec."
	run(t, []row{
		{name: "messageId is derived", manifest: spec("m-1", "messageId"), field: template + "messageId"},
		{name: "an answer can't be scheduled", manifest: spec(part("name", "d"), "continues"), field: template + "continues"},
		{name: "canceled in advance", manifest: spec(true, "cancel"), field: template + "cancel"},
		{name: "not canceled", manifest: spec(false, "cancel")},
		{name: "a resolution in advance", manifest: spec(part("action", "Abandon"), "resolution"), field: template + "resolution"},
		{name: "a fixed end", manifest: spec("2026-10-01T00:00:00Z", "notAfter"), field: template + "notAfter"},
		{name: "gone before it is noted", manifest: spec(int64(59), "ttlSecondsAfterFinished"), field: template + "ttlSecondsAfterFinished"},
		{name: "gone after a minute", manifest: spec(int64(60), "ttlSecondsAfterFinished")},
		{name: "a follow-up", manifest: spec([]any{part("name", "d")}, "refines")},
		{name: "held back", manifest: spec(true, "suspend")},
		{name: "the message's own rules", manifest: spec(part("parts", []any{}), "message"), field: template + "message.parts"},
		{name: "labels", manifest: metadata(part("team", "books"), "labels")},
		{name: "the operator's label", manifest: metadata(part(v1alpha1.ScheduleLabel, "other"), "labels"), field: "spec.template.metadata.labels"},
		{name: "annotations", manifest: metadata(part("why", "close"), "annotations")},
		{name: "a forged journal", manifest: metadata(part(v1alpha1.AttemptAnnotation, "{}"), "annotations"), field: "spec.template.metadata.annotations"},
		{name: "no template", manifest: scheduled(unset("spec", "template")), field: "spec.template"},
	})
}

// A schedule and its template may be edited, unlike a Delegation; what names its messages may not.
func TestScheduleUpdates(t *testing.T) {
	s := cluster.Space(t)
	for _, c := range []struct {
		name   string
		change change
		field  string
	}{
		{name: "the times", change: set("0 7 * * *", "spec", "schedule")},
		{name: "the message", change: text0("Reconcile it all")},
		{name: "the agent", change: set("other", "spec", "template", "spec", "agentRef", "name")},
		{name: "another qualifier", change: set("west", "spec", "messageIdQualifier"), field: "spec.messageIdQualifier"},
		{name: "no qualifier", change: unset("spec", "messageIdQualifier"), field: "spec.messageIdQualifier"},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := scheduled(set("east", "spec", "messageIdQualifier"))
			u.SetNamespace(s.Namespace)
			if err := s.Client.Create(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			c.change(u)
			err := s.Client.Update(t.Context(), u)
			if c.field != "" {
				requireRefused(t, err, c.field)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func text0(text string) change {
	return set([]any{part("text", text)}, "spec", "template", "spec", "message", "parts")
}

// What the API server fills in, and what kubectl shows.
func TestScheduleDefaults(t *testing.T) {
	s := cluster.Space(t)
	o := s.Schedule("0 7 * * *", s.Delegation("morning").Build())
	s.Create(o)
	if o.Spec.ConcurrencyPolicy != v1alpha1.ConcurrencyAllow || *o.Spec.SuccessfulRunsHistoryLimit != 3 || *o.Spec.FailedRunsHistoryLimit != 1 ||
		o.Spec.Template.Spec.DeletionPolicy != v1alpha1.DeletionCancel || o.Spec.TimeZone != nil || o.Spec.StartingDeadlineSeconds != nil {
		t.Errorf("%+v", o.Spec)
	}
	out := s.Kubectl("get", "dls")
	for _, want := range []string{"NAME", "SCHEDULE", "TIME-ZONE", "SUSPEND", "LAST", "NEXT", "REASON", "AGE", "morning", "0 7 * * *"} {
		if !strings.Contains(out, want) {
			t.Errorf("kubectl shows no %q:\n%s", want, out)
		}
	}
	s.Kubectl("apply", "--dry-run=server", "-f", harness.Root(t)+"/config/samples/schedule.yaml")
}
