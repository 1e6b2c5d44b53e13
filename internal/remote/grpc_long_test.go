// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/artifact"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// showing is an agent that has one task.
type showing struct {
	a2asrv.RequestHandler
	task *a2a.Task
}

func (s showing) GetTask(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error) { return s.task, nil }

func (s showing) SendMessage(context.Context, *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	return s.task, nil
}

// doneWith is an ended task with these artifacts, each of one part.
func doneWith(parts ...*a2a.Part) *a2a.Task {
	task := &a2a.Task{
		ID: "t-1", ContextID: "c-1", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted},
		History: []*a2a.Message{{ID: "m-71", Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart("x")}}},
	}
	for i, p := range parts {
		task.Artifacts = append(task.Artifacts, &a2a.Artifact{ID: a2a.ArtifactID("a-" + strconv.Itoa(i)), Parts: a2a.ContentParts{p}})
	}
	return task
}

// A task of any size comes over gRPC from an agent on the Go SDK: its end, its history, and of what is left out the size
// and the digest, but for data.
func TestGRPCLongAnswers(t *testing.T) {
	plain := strings.Repeat("0123456789\n\"\\\x01\u20ac\U0001F600", long/22)
	raw := bytes.Repeat([]byte{0, 1, 254, 255, '"'}, long/5)
	var small []*a2a.Part
	for range 999 {
		small = append(small, a2a.NewTextPart(strings.Repeat("y", 30<<10)))
	}
	for _, c := range []struct {
		name   string
		parts  []*a2a.Part
		size   int
		digest string
	}{
		{"a text", []*a2a.Part{a2a.NewTextPart(plain)}, len(plain), digestOf([]byte(plain))},
		{"bytes", []*a2a.Part{a2a.NewRawPart(raw)}, len(raw), digestOf(raw)},
		{"data", []*a2a.Part{a2a.NewDataPart(map[string]any{"x": plain})}, 0, ""},
		{"1,000 artifacts", append(small, a2a.NewTextPart(plain)), len(plain), digestOf([]byte(plain))},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := connect(t, overGRPC(t, showing{sdkHandler(), doneWith(c.parts...)}, nil))
			for call, ex := range map[string]outbox.Exchange{"GetTask": client.Get(t.Context(), "t-1"), "SendMessage": client.Send(t.Context(), token(t), message())} {
				expectTask(t, ex, outbox.Accepted, "")
				if ex.Task.State != v1alpha1.TaskStateCompleted || len(ex.Task.Artifacts) != len(c.parts) || !slices.Equal(ex.Task.History, []string{"m-71"}) {
					t.Fatalf("%s: state %s, %d artifacts, history %q", call, ex.Task.State, len(ex.Task.Artifacts), ex.Task.History)
				}
				st := artifact.Place(artifact.Names("cm"), ex.Task.Artifacts[len(c.parts)-1:]).Status[0]
				if !st.Truncated || st.Size != int64(c.size) || st.Digest != c.digest {
					t.Errorf("%s: %+v, want %d bytes of digest %s", call, st, c.size, c.digest)
				}
			}
		})
	}
}

// Beyond the most that is read of an answer the task counts as far as it came, once the call has ended well. Behind a
// history there may be another message.
func TestGRPCAnswersBeyondTheBound(t *testing.T) {
	text := strings.Repeat("z", long)
	ended := connect(t, overGRPC(t, showing{sdkHandler(), doneWith(a2a.NewTextPart("42"), a2a.NewTextPart(text), a2a.NewTextPart("43"))}, nil), limited(1<<18)).
		Get(t.Context(), "t-1")
	expectTask(t, ended, outbox.Accepted, "")
	if ended.Task.State != v1alpha1.TaskStateCompleted || len(ended.Task.Artifacts) != 2 || ended.Task.MoreArtifacts != 1 {
		t.Fatalf("state %s, %d artifacts and %d more", ended.Task.State, len(ended.Task.Artifacts), ended.Task.MoreArtifacts)
	}
	if st := artifact.Place(artifact.Names("cm"), ended.Task.Artifacts).Status; st[0].Text != "42" || !st[1].Truncated || st[1].Size != 0 || st[1].Digest != "" {
		t.Errorf("%+v", st)
	}
	task := doneWith()
	task.History[0].Parts = a2a.ContentParts{a2a.NewTextPart(text)}
	expect(t, connect(t, overGRPC(t, showing{sdkHandler(), task}, nil), limited(1<<18)).Get(t.Context(), "t-1"),
		outbox.Ambiguous, remote.ReasonResponseTooLarge)
}

// field is the head of a field of so many bytes.
func field(number protowire.Number, length int) string {
	return string(protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.BytesType), uint64(length)))
}

// within is a field of these bytes.
func within(number protowire.Number, content string) string {
	return field(number, len(content)) + content
}

// grpcPieces returns an agent whose answer is one message that is made of these pieces, without a copy of it in memory.
func grpcPieces(t *testing.T, pieces ...piece) *agent {
	t.Helper()
	length := 0
	for _, p := range pieces {
		length += len(p.text) * p.times
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // what is asked makes no difference
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
		_, _ = w.Write(binary.BigEndian.AppendUint32([]byte{0}, uint32(length)))
		for _, p := range pieces {
			for range p.times {
				_, _ = io.WriteString(w, p.text) // the client may have enough
			}
		}
	}))
	overH2C(s)
	s.Start()
	t.Cleanup(s.Close)
	a := newAgent(t)
	a.url, a.configure = s.URL, speakingGRPC
	return a
}

const (
	taskFieldID, taskFieldStatus, taskFieldArtifacts, taskFieldHistory = 1, 3, 4, 5
	artifactFieldID, artifactFieldParts                                = 1, 4
	partFieldText, partFieldRaw                                        = 1, 2
)

// taskHead is a task's beginning: its id, and that it is completed.
var taskHead = within(taskFieldID, "t-1") + within(taskFieldStatus, "\x08\x03")

// The memory that an answer takes does not grow with it.
func TestGRPCLongAnswersTakeBoundedMemory(t *testing.T) {
	block := strings.Repeat("x", 64<<10)
	const times = 64 << 20 / (64 << 10)
	for name, number := range map[string]protowire.Number{"a text": partFieldText, "bytes": partFieldRaw} {
		t.Run(name, func(t *testing.T) {
			n := len(block) * times
			head := field(number, n)
			part := field(artifactFieldParts, len(head)+n) + head
			begin := within(artifactFieldID, "a") + part
			client := connect(t, grpcPieces(t, once(taskHead+field(taskFieldArtifacts, len(begin)+n)+begin), piece{block, times},
				once(within(taskFieldHistory, within(1, "m-71")))))
			peak := watchHeap(t)
			ex := client.Get(t.Context(), "t-1")
			took := peak()
			if t.Logf("the heap grew by %d MiB", took>>20); took > 48<<20 {
				t.Error("that is too much")
			}
			expectTask(t, ex, outbox.Accepted, "")
			st := artifact.Place(artifact.Names("cm"), ex.Task.Artifacts).Status[0]
			if st.Size != int64(n) || st.Digest != digestOf([]byte(strings.Repeat(block, times))) || !slices.Equal(ex.Task.History, []string{"m-71"}) {
				t.Errorf("%+v, history %q", st, ex.Task.History)
			}
		})
	}
}

// A long message reads as a short one does.
func TestGRPCLongAnswerReadsAsAShortOne(t *testing.T) {
	data, err := structpb.NewValue(map[string]any{"total": 7.5, "rows": []any{"a", nil, true, strings.Repeat("r", 20<<10)}})
	if err != nil {
		t.Fatal(err)
	}
	odd, err := structpb.NewStruct(map[string]any{"x": strings.Repeat("m", 20<<10)})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("\x00\x1f\"\\/\u2028\u20ac\U0001F600\n", 2<<10)
	task := workingTask()
	task.Status.Timestamp = &timestamppb.Timestamp{Seconds: 1788264000, Nanos: 5000}
	task.Status.Message = &a2apb.Message{MessageId: "s-1", Role: a2apb.Role_ROLE_AGENT, Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: "busy"}}}}
	task.History = []*a2apb.Message{{MessageId: "m-71", Extensions: []string{"https://x", "https://y"}}, {MessageId: "r-1"}, {}}
	task.Metadata = odd
	task.Artifacts = []*a2apb.Artifact{
		{ArtifactId: "a", Name: "report \u20ac", Description: "d", Metadata: odd, Parts: []*a2apb.Part{
			{Content: &a2apb.Part_Raw{Raw: bytes.Repeat([]byte{0, 255, 7, 9}, 5<<10)}, Filename: "x.bin", MediaType: "application/x", Metadata: odd},
			{Content: &a2apb.Part_Data{Data: data}}, {Content: &a2apb.Part_Url{Url: "https://x"}}, {Content: &a2apb.Part_Raw{Raw: []byte("1")}}, {},
		}},
		{ArtifactId: "b", Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: text}}, {Content: &a2apb.Part_Text{}}}}, {},
	}
	task.ProtoReflect().SetUnknown([]byte{0xF8, 0x07, 1, 0xF5, 0x07, 1, 2, 3, 4, 0xF1, 0x07, 1, 2, 3, 4, 5, 6, 7, 8, 0xFA, 0x07, 1, 2})
	a := grpcAnswering(200, grpcHeader(), frame(t, task), ended(t, 0, ""))(t)
	short := connect(t, a, speakingGRPC).Get(t.Context(), "t-1")
	longer := connect(t, a, speakingGRPC, limited(1<<20)).Get(t.Context(), "t-1")
	expectTask(t, longer, outbox.Accepted, "")
	if !reflect.DeepEqual(short, longer) {
		t.Errorf("%+v\nis not\n%+v", longer.Task, short.Task)
	}
}

// What is not the message that was asked for proves nothing, however long it is.
func TestGRPCLongAnswersThatAreNone(t *testing.T) {
	filler := within(99, strings.Repeat("f", 1<<16))
	artifacts := within(taskFieldArtifacts, within(artifactFieldID, "a"))
	history := within(taskFieldHistory, within(1, "m-71"))
	for _, c := range []struct {
		name, message, reason string
	}{
		{"a history in two pieces", taskHead + history + artifacts + history, remote.ReasonInvalidResponse},
		{"two states", taskHead + within(taskFieldStatus, "\x08\x02"), remote.ReasonInvalidResponse},
		{"a part that is text and bytes", taskHead + within(taskFieldArtifacts, within(artifactFieldParts, within(partFieldText, "x")+within(partFieldRaw, "y"))),
			remote.ReasonInvalidResponse},
		{"a field that is longer than the message", taskHead + field(taskFieldArtifacts, 1000), remote.ReasonInvalidResponse},
		{"a field that is longer than what it is in", taskHead + within(taskFieldArtifacts, field(artifactFieldID, 1000)+"a") + filler, remote.ReasonInvalidResponse},
		{"half a field", taskHead + "\x2a", remote.ReasonResponseTruncated},
		{"an endless number", taskHead + strings.Repeat("\xff", 11), remote.ReasonInvalidResponse},
		{"a group", taskHead + "\x9b\x06\x9c\x06", remote.ReasonInvalidResponse},
		{"a number that does not end in its message", taskHead + within(taskFieldArtifacts, "\x98\x06\x80") + "\x01", remote.ReasonInvalidResponse},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := grpcPieces(t, once(filler+c.message))
			expect(t, connect(t, a, limited(1<<16)).Get(t.Context(), "t-1"), outbox.Ambiguous, c.reason)
		})
	}
	for name, c := range map[string]struct{ body, reason string }{
		"half a message": {string(binary.BigEndian.AppendUint32([]byte{0}, 1<<20)) + filler, remote.ReasonResponseTruncated},
		"two messages":   {frame(t, workingTask()) + strings.Repeat("x", 1<<16), remote.ReasonInvalidResponse},
	} {
		t.Run(name, func(t *testing.T) {
			a := grpcAnswering(200, grpcHeader(), c.body, ended(t, 0, ""))(t)
			expect(t, connect(t, a, speakingGRPC, limited(1<<16)).Get(t.Context(), "t-1"), outbox.Ambiguous, c.reason)
		})
	}
}

// A server that finds the answer too large to send says RESOURCE_EXHAUSTED when the agent has the message. That is no rate
// limit: a second copy could make a second task.
func TestAnswerTooLargeForItsServer(t *testing.T) {
	client := connect(t, servingGRPC(t, showing{sdkHandler(), doneWith(a2a.NewTextPart("The books are balanced."))}, nil, grpc.MaxSendMsgSize(16)))
	expect(t, client.Send(t.Context(), token(t), message()), outbox.Ambiguous, remote.ReasonServerError)
	expect(t, client.Get(t.Context(), "t-1"), outbox.NotSent, remote.ReasonTooManyRequests)
}
