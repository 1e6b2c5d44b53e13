// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"net/http"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// held judges the answer to a send and holds it to what must never happen.
func held(t *testing.T, b binding, ev evidence) {
	t.Helper()
	a := b.decode(outbox.CallSend, parcel{id: "ID"}, ev)
	ex := judge(ev, a, time.Unix(0, 0))
	if ex.Outcome == outbox.Accepted {
		if ev.status != http.StatusOK {
			t.Errorf("accepted HTTP %d", ev.status)
		}
		ex = sent(a.result, "")
	}
	checkOutcome(t, ex)
	checkTexts(t, ex)
}

// FuzzAnswerREST is FuzzAnswer for HTTP+JSON.
func FuzzAnswerREST(f *testing.F) {
	for _, body := range []string{
		``, `null`, `[]`, `{"task":{"id":"t","status":{"state":2}}}`, `{"message":{"messageId":"r","parts":[{"text":"x"}]}}`, `{"error":"no"}`,
		`{"error":{"code":400,"message":"no","details":[{"@type":"x/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org"}]}}`,
		`{"code":5,"details":[{"reason":"MESSAGE_IN_PROGRESS"},{"@type":"x/google.rpc.RetryInfo","retryDelay":"1s"}]}`,
	} {
		for _, status := range []int{200, 202, 401, 404, 409, 429, 503} {
			f.Add(status, body, "application/a2a+json", "5")
		}
	}
	f.Fuzz(func(t *testing.T, status int, body, contentType, after string) {
		header := http.Header{"Content-Type": {contentType}, "Retry-After": {after}}
		held(t, rest{}, evidence{status: status, header: header, body: []byte(body), private: private{secrets: []string{"s3cr3t"}}})
	})
}

// FuzzAnswerLegacy is FuzzAnswer for JSONRPC of A2A 0.3.
func FuzzAnswerLegacy(f *testing.F) {
	for _, body := range []string{
		``, `null`, `{"jsonrpc":"2.0","id":"ID","result":{"kind":"task","id":"t","status":{"state":"working","message":{"parts":[{"kind":"text","text":"x"}]}}}}`,
		`{"jsonrpc":"2.0","id":"ID","result":{"id":"t","status":{"state":"odd"},"artifacts":[{"parts":[{"kind":"file","file":{"bytes":"AA=="}},{"data":[1]}]}]}}`,
		`{"jsonrpc":"2.0","id":"ID","result":{"kind":"message","messageId":"r","parts":[{"kind":"data","data":{"value":1},"metadata":{"data_part_compat":true}}]}}`,
		`{"jsonrpc":"2.0","id":"ID","error":{"code":-32008,"message":"no","data":[{"reason":"MESSAGE_IN_PROGRESS"}]}}`,
	} {
		for _, status := range []int{200, 401, 404, 409, 503} {
			f.Add(status, body, "application/json", "5")
		}
	}
	f.Fuzz(func(t *testing.T, status int, body, contentType, after string) {
		header := http.Header{"Content-Type": {contentType}, "Retry-After": {after}}
		held(t, legacyRPC{}, evidence{status: status, header: header, body: []byte(body), private: private{secrets: []string{"s3cr3t"}}})
	})
}

// FuzzAnswerGRPC is FuzzAnswer for GRPC.
func FuzzAnswerGRPC(f *testing.F) {
	for _, body := range []string{"", "\x00\x00\x00\x00\x00", "\x00\x00\x00\x00\x0b\x0a\x09\x0a\x03t-1\x1a\x02\x08\x02", "\x01\x00\x00\x00\x00"} {
		for _, end := range []string{"0", "", "3", "14", "x"} {
			f.Add(200, []byte(body), end, "no%20s3cr3t", "CAMSAm5v", true)
		}
	}
	f.Fuzz(func(t *testing.T, status int, body []byte, end, said, details string, trailing bool) {
		ev := evidence{status: status, header: http.Header{"Content-Type": {"application/grpc"}}, body: body, private: private{secrets: []string{"s3cr3t"}}}
		ending := http.Header{"Grpc-Status": {end}, "Grpc-Message": {said}, "Grpc-Status-Details-Bin": {details}}
		if trailing {
			ev.trailer = ending
		} else {
			for name, values := range ending {
				ev.header[name] = values
			}
		}
		held(t, unary{}, ev)
	})
}

// FuzzLongGRPC holds what is made of a task piece by piece against what protocol buffers make of it as a whole.
func FuzzLongGRPC(f *testing.F) {
	for _, task := range []*a2apb.Task{
		{Id: "t", Status: &a2apb.TaskStatus{State: 3, Timestamp: &timestamppb.Timestamp{Seconds: 1 << 50}}},
		{Id: "t", History: []*a2apb.Message{{MessageId: "m", Extensions: []string{"a", "b"}}, {}}},
		{Id: "t", Artifacts: []*a2apb.Artifact{{ArtifactId: "a", Parts: []*a2apb.Part{
			{Content: &a2apb.Part_Text{Text: "x\n\u20ac"}}, {Content: &a2apb.Part_Raw{Raw: []byte{0, 255}}}, {Content: &a2apb.Part_Url{Url: "https://x"}},
			{Content: &a2apb.Part_Data{Data: structpb.NewStringValue("d")}, Filename: "f"},
		}}}},
	} {
		body, err := proto.Marshal(task)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		frame := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
		got, err := transcode(bufio.NewReader(bytes.NewReader(frame)), 1<<20, (&a2apb.Task{}).ProtoReflect().Descriptor())
		var task a2apb.Task
		if err != nil || proto.Unmarshal(body, &task) != nil || slices.ContainsFunc(task.GetArtifacts(), oddPart) {
			return
		}
		want, err := protojson.Marshal(&task)
		if err != nil {
			return
		}
		if got, want := Snapshot(decodeTask(got)), Snapshot(decodeTask(want)); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}

// oddPart reports whether a part is of no kind that is known. It is kept as the JSON that it came as, for which there is more than one form.
func oddPart(a *a2apb.Artifact) bool {
	return slices.ContainsFunc(a.GetParts(), func(p *a2apb.Part) bool { return p.GetContent() == nil })
}
