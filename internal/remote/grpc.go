// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"encoding/binary"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// frameHead is the length of what stands before a gRPC message: a flag for compression and the message's length.
const frameHead = 5

// unary dresses requests as gRPC calls with one message (A2A 1.0, section 10; gRPC over HTTP/2). It goes over this package's own wire
// and not through a gRPC client, which repeats a call by itself, keeps a failed connection's error for later calls, and
// does not say whether a byte of the message left the process.
//
// Messages go through their JSON form, which protocol buffers define and which is A2A's JSON, so that there is one way to
// read a task. A number in data that no float64 holds is rounded: google.protobuf.Value knows no other number.
type unary struct {
	url *url.URL
}

// method is a call as the service has it. One that answers with a stream has no out and no reduce.
type method struct {
	path   string
	in     func() proto.Message
	out    func() proto.Message
	reduce func(proto.Message)
}

var methods = map[outbox.Call]method{
	outbox.CallSend: {
		a2apb.A2AService_SendMessage_FullMethodName,
		func() proto.Message { return &a2apb.SendMessageRequest{} }, func() proto.Message { return &a2apb.SendMessageResponse{} },
		func(m proto.Message) {
			plainTask(m.(*a2apb.SendMessageResponse).GetTask())
			plainMessage(m.(*a2apb.SendMessageResponse).GetMessage())
		},
	},
	outbox.CallFind: {
		a2apb.A2AService_ListTasks_FullMethodName,
		func() proto.Message { return &a2apb.ListTasksRequest{} }, func() proto.Message { return &a2apb.ListTasksResponse{} },
		func(m proto.Message) {
			for _, t := range m.(*a2apb.ListTasksResponse).GetTasks() {
				plainTask(t)
			}
		},
	},
	outbox.CallGet: {
		a2apb.A2AService_GetTask_FullMethodName,
		func() proto.Message { return &a2apb.GetTaskRequest{} }, func() proto.Message { return &a2apb.Task{} },
		func(m proto.Message) { plainTask(m.(*a2apb.Task)) },
	},
	outbox.CallCancel: {
		a2apb.A2AService_CancelTask_FullMethodName,
		func() proto.Message { return &a2apb.CancelTaskRequest{} }, func() proto.Message { return &a2apb.Task{} },
		func(m proto.Message) { plainTask(m.(*a2apb.Task)) },
	},
	callSubscribe: {
		path: a2apb.A2AService_SubscribeToTask_FullMethodName, in: func() proto.Message { return &a2apb.SubscribeToTaskRequest{} },
	},
}

// encode implements binding. gRPC has its methods at the root of a host, whatever path an interface's URL has.
func (b unary) encode(call outbox.Call, params any) (parcel, error) {
	m, known := methods[call]
	if !known {
		return parcel{}, errNoRequest
	}
	plain, err := json.Marshal(params)
	if err != nil {
		return parcel{}, err
	}
	in := m.in()
	if err := protojson.Unmarshal(plain, in); err != nil {
		return parcel{}, err
	}
	body, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(make([]byte, frameHead), in)
	if err != nil {
		return parcel{}, err
	}
	// Below 2 GiB, since proto refuses more.
	binary.BigEndian.PutUint32(body[1:frameHead], uint32(len(body)-frameHead))
	p := parcel{
		method: http.MethodPost, url: &url.URL{Scheme: b.url.Scheme, Host: b.url.Host, Path: m.path}, body: body, plain: plain,
		header: http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}},
	}
	if m.out != nil {
		p.message = m.out().ProtoReflect().Descriptor()
	}
	return p, nil
}

// decode implements binding.
func (unary) decode(call outbox.Call, _ parcel, ev evidence) answer {
	switch {
	case ev.err != nil:
		return answer{}
	case ev.gap != "":
		return answer{reason: ev.gap}
	case !isGRPC(ev.header):
		return answer{reason: ReasonUnexpectedContentType}
	}
	end, given := ev.grpcStatus()
	switch {
	case !given:
		// Whatever came before, a call without a status has not ended.
		return answer{reason: ReasonResponseTruncated}
	case end.code != 0:
		return end.answer(call)
	case ev.transcoded:
		return answer{result: ev.body}
	}
	result, ok := unframe(call, ev.body)
	if !ok {
		return answer{reason: ReasonInvalidResponse}
	}
	return answer{result: result}
}

// isGRPC reports whether the response is one of gRPC with protocol buffers.
func isGRPC(h http.Header) bool {
	kind, _, _ := strings.Cut(strings.ToLower(h.Get("Content-Type")), ";")
	kind = strings.TrimSpace(kind)
	return kind == "application/grpc" || kind == "application/grpc+proto"
}

// unframe returns the JSON form of the one message in a body. None was asked to be compressed, so none is.
func unframe(call outbox.Call, body []byte) ([]byte, bool) {
	if len(body) < frameHead || body[0] != 0 || uint64(binary.BigEndian.Uint32(body[1:frameHead])) != uint64(len(body)-frameHead) {
		return nil, false
	}
	m := methods[call]
	if m.out == nil {
		return nil, false
	}
	out := m.out()
	if proto.Unmarshal(body[frameHead:], out) != nil {
		return nil, false
	}
	plain, err := protojson.Marshal(out)
	if err != nil {
		m.reduce(out)
		plain, err = protojson.Marshal(out)
	}
	return plain, err == nil
}
