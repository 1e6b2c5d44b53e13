// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"math"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"
)

// plainTask takes out of a task what has no JSON form, and of the rest what is not kept: a time beyond the year 9999, a NaN in
// data. Nobody else is to pay for it: the task keeps its id, its question and its results.
func plainTask(t *a2apb.Task) {
	if t == nil {
		return
	}
	t.Metadata = nil
	if t.Status != nil {
		plainMessage(t.Status.Message)
		if !t.Status.Timestamp.IsValid() {
			t.Status.Timestamp = nil
		}
	}
	for i, m := range t.History {
		t.History[i] = &a2apb.Message{MessageId: m.GetMessageId(), ContextId: m.GetContextId(), TaskId: m.GetTaskId()}
	}
	for _, a := range t.Artifacts {
		a.Metadata = nil
		plainParts(a.Parts)
	}
}

func plainMessage(m *a2apb.Message) {
	if m != nil {
		m.Metadata = nil
		plainParts(m.Parts)
	}
}

func plainParts(parts []*a2apb.Part) {
	for _, p := range parts {
		p.Metadata = nil
		plainValue(p.GetData())
	}
}

// plainValue puts into data what JSON has instead: null for a value of no kind, and for a number that is none its name, which
// is what the JSON of protocol buffers has for it in other places.
func plainValue(v *structpb.Value) {
	switch k := v.GetKind().(type) {
	case nil:
		if v != nil {
			v.Kind = &structpb.Value_NullValue{}
		}
	case *structpb.Value_NumberValue:
		if name := nameOf(k.NumberValue); name != "" {
			v.Kind = &structpb.Value_StringValue{StringValue: name}
		}
	case *structpb.Value_StructValue:
		for _, field := range k.StructValue.GetFields() {
			plainValue(field)
		}
	case *structpb.Value_ListValue:
		for _, element := range k.ListValue.GetValues() {
			plainValue(element)
		}
	}
}

// nameOf is the name of a number that JSON does not have; empty for others.
func nameOf(n float64) string {
	switch {
	case math.IsNaN(n):
		return "NaN"
	case math.IsInf(n, 1):
		return "Infinity"
	case math.IsInf(n, -1):
		return "-Infinity"
	}
	return ""
}
