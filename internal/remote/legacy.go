// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"maps"
	"mime"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// legacyMethods are the calls as A2A 0.3 names them over JSON-RPC (A2A 0.3, section 3.5.6). There is none to list tasks.
var legacyMethods = map[outbox.Call]string{
	outbox.CallSend:   "message/send",
	outbox.CallGet:    "tasks/get",
	outbox.CallCancel: "tasks/cancel",
	callSubscribe:     "tasks/resubscribe",
	callCreatePush:    "tasks/pushNotificationConfig/set",
	callDeletePush:    "tasks/pushNotificationConfig/delete",
}

// legacyFaults are the errors that A2A 0.3 names by code (section 8.2): those of 1.0 except the two that came later. As
// codes of 0.3 those are free for what a server wants to say, which proves nothing.
var legacyFaults = func() map[int64]fault {
	faults := maps.Clone(rpcFaults)
	delete(faults, -32008)
	delete(faults, -32009)
	return faults
}()

// legacyRPC dresses requests as JSON-RPC 2.0 of A2A 0.3. What is asked is translated by the SDK. What comes back is
// translated here, member by member, into A2A 1.0's JSON, so that there is one way to read a task: the SDK's decoder gives
// up a whole answer for one part of an unknown kind, and its translation loses the states that it does not know.
type legacyRPC struct {
	rpc
}

// encode implements binding.
func (b legacyRPC) encode(call outbox.Call, params any) (parcel, error) {
	method, known := legacyMethods[call]
	if !known {
		return parcel{}, errNoRequest
	}
	switch r := params.(type) {
	case *a2a.SendMessageRequest:
		return rpcRequest(b.url, call, method, a2av0.FromV1SendMessageRequest(withFiles(r)))
	case *a2a.GetTaskRequest:
		return rpcRequest(b.url, call, method, a2av0.FromV1GetTaskRequest(r))
	case *a2a.CancelTaskRequest:
		return rpcRequest(b.url, call, method, a2av0.FromV1CancelTaskRequest(r))
	case *a2a.SubscribeToTaskRequest:
		return rpcRequest(b.url, call, method, a2av0.FromV1SubscribeToTaskRequest(r))
	case *a2a.PushConfig:
		return rpcRequest(b.url, call, method, a2av0.FromV1PushConfig(r))
	case *a2a.DeleteTaskPushConfigRequest:
		return rpcRequest(b.url, call, method, a2av0.FromV1DeleteTaskPushConfigRequest(r))
	}
	return parcel{}, errNoRequest
}

// withFiles returns the request with its named texts as files: A2A 0.3 has names and media types on files only (section
// 6.5), and the SDK drops them without a word.
func withFiles(r *a2a.SendMessageRequest) *a2a.SendMessageRequest {
	out, m := *r, *r.Message
	m.Parts = make(a2a.ContentParts, len(r.Message.Parts))
	for i, p := range r.Message.Parts {
		if text, ok := p.Content.(a2a.Text); ok && p.Filename != "" {
			file := *p
			file.Content = a2a.Raw(text)
			p = &file
		}
		m.Parts[i] = p
	}
	out.Message = &m
	return &out
}

// decode implements binding.
func (legacyRPC) decode(call outbox.Call, p parcel, ev evidence) answer {
	if unlabeled(p, ev) {
		ev.header = ev.header.Clone()
		ev.header.Del("Content-Type")
	}
	a := rpcAnswer(p, ev, legacyFaults)
	if a.result == nil {
		return a
	}
	switch call {
	case outbox.CallSend:
		a.result = encodeData(modernResult(object(a.result)))
	case outbox.CallGet, outbox.CallCancel:
		a.result = encodeData(modernTask(object(a.result)))
	}
	return a
}

// unlabeled reports whether a response is one to the request although it came as plain text. The Go SDK's servers of A2A 0.3
// set no content type, and net/http guesses that one. With the request's id in it, it is no page of a gateway.
func unlabeled(p parcel, ev evidence) bool {
	kind, _, err := mime.ParseMediaType(ev.header.Get("Content-Type"))
	return err == nil && kind == "text/plain" && object(ev.body).text("id") == p.id
}
