// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"math"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// An agent in Python puts a NaN into data without a second thought, and protocol buffers carry what JSON has no form for. It
// costs that value, and neither the results next to it nor the question.
func TestValuesWithoutAJSONForm(t *testing.T) {
	list := structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{
		structpb.NewNumberValue(math.NaN()), structpb.NewNumberValue(math.Inf(1)), structpb.NewNumberValue(math.Inf(-1)), {}, structpb.NewNumberValue(7),
	}})
	odd := structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"sums": list}})
	data := func(v *structpb.Value) *a2apb.Part { return &a2apb.Part{Content: &a2apb.Part_Data{Data: v}} }
	meta := &structpb.Struct{Fields: map[string]*structpb.Value{"x": structpb.NewNumberValue(math.NaN())}}
	at := time.Date(2026, 9, 30, 12, 0, 0, 0, time.UTC)
	task := &a2apb.Task{
		Id: "t-1", ContextId: "c-1", Metadata: meta,
		Status: &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_INPUT_REQUIRED, Timestamp: timestamppb.New(at), Message: &a2apb.Message{
			MessageId: "q", Metadata: meta, Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: "Which month?"}}, data(odd)},
		}},
		History: []*a2apb.Message{{MessageId: "m-71", Metadata: meta, Parts: []*a2apb.Part{data(odd)}}},
		Artifacts: []*a2apb.Artifact{
			{ArtifactId: "a", Name: "report", Metadata: meta, Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: "All is well."}, Metadata: meta}}},
			{ArtifactId: "b", Parts: []*a2apb.Part{data(odd), data(nil), {}}},
		},
	}
	a := grpcAnswering(200, grpcHeader(), frame(t, task), ended(t, 0, ""))(t)
	ex := connect(t, a, speakingGRPC).Get(t.Context(), "t-1")
	expectTask(t, ex, outbox.Accepted, "")
	text := func(kind, content string) outbox.ArtifactPart {
		return outbox.ArtifactPart{MediaType: kind, Text: true, Content: []byte(content)}
	}
	want := &outbox.Task{
		ID: "t-1", ContextID: "c-1", State: "TASK_STATE_INPUT_REQUIRED", Timestamp: at, Message: "Which month?", History: []string{"m-71"},
		Artifacts: []outbox.Artifact{
			{ID: "a", Name: "report", Parts: []outbox.ArtifactPart{text("text/plain", "All is well.")}},
			{ID: "b", Parts: []outbox.ArtifactPart{
				text("application/json", `{"sums":["NaN","Infinity","-Infinity",null,7]}`), text("application/json", "null"), text("application/json", "{}"),
			}},
		},
	}
	if diff := cmp.Diff(want, ex.Task); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
