// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

// The methods of JSON-RPC that send a message, and those that the proxy calls or rewrites (A2A 1.0, section 9.4).
const (
	methodSend     = "SendMessage"
	methodStream   = "SendStreamingMessage"
	methodGetTask  = "GetTask"
	methodList     = "ListTasks"
	methodExtended = "GetExtendedAgentCard"
)

// The paths of HTTP+JSON, behind the interface's own and the tenant (A2A 1.0, section 11.3).
const (
	pathSend     = "/message:send"
	pathStream   = "/message:stream"
	pathExtended = "/extendedAgentCard"
	pathCard     = "/.well-known/agent-card.json"
)

var (
	// errBatch says that the request is a JSON-RPC batch, in which a send could hide.
	errBatch = errors.New("JSON-RPC batches are not served: send each call in a request of its own")
	// errNotJSON says that a request to a path of sends carries no JSON object.
	errNotJSON = errors.New("the request is not a JSON object")
	// errTwice says that readers don't agree on what the request says: some would find a send in it and others none.
	errTwice = errors.New("a member of the request occurs twice, or in two spellings: give each once, under the specification's name")
)

// call is a request that sends a message, in either binding.
type call struct {
	// rpc says that the binding is JSON-RPC, else it is HTTP+JSON.
	rpc    bool
	stream bool
	// id is the request's JSON-RPC id as it came; null where it has none.
	id json.RawMessage
	// prefix is the escaped path in front of the operation, HTTP+JSON only: the interface's own, and the tenant.
	prefix string
	// tenant is the one that the body names.
	tenant string
	// historyLength is how much history the answer is to show; nil where the request does not say.
	historyLength json.RawMessage
	message       message
}

// method is the name of the call, as JSON-RPC has it.
func (c *call) method() string {
	if c.stream {
		return methodStream
	}
	return methodSend
}

// message is what the proxy needs of a message.
type message struct {
	id, taskID, contextID string
	digest                string
}

// readCall recognises a send. It returns nil for every other request, and for a message without a usable messageId,
// which the agent refuses. It returns errBatch, errNotJSON and errTwice for requests that must not go through unread.
func readCall(r *http.Request, body []byte) (*call, error) {
	if r.Method != http.MethodPost {
		return nil, nil
	}
	path := r.URL.EscapedPath()
	decoded := r.URL.Path
	for _, suffix := range []string{pathSend, pathStream} {
		if strings.HasSuffix(decoded, suffix) {
			return readREST(path[:max(0, strings.LastIndexByte(path, '/'))], suffix == pathStream, body)
		}
	}
	return readRPC(body)
}

func readREST(prefix string, stream bool, body []byte) (*call, error) {
	c := &call{stream: stream, prefix: prefix}
	if first(body) != '{' {
		return nil, errNotJSON
	}
	return c.read(body)
}

func readRPC(body []byte) (*call, error) {
	switch first(body) {
	case '[':
		return nil, checkBatch(body)
	case '{':
	default:
		return nil, nil
	}
	var envelope struct {
		ID     json.RawMessage `json:"id"`
		Method json.RawMessage `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if !decodes(body, &envelope) {
		return nil, nil // no agent can read it
	}
	if twice(body, "method", "params") {
		return nil, errTwice
	}
	method := text(envelope.Method)
	if method != methodSend && method != methodStream {
		return nil, nil
	}
	c := &call{rpc: true, stream: method == methodStream, id: envelope.ID}
	if len(c.id) == 0 {
		c.id = json.RawMessage("null")
	}
	if first(envelope.Params) != '{' {
		return nil, nil
	}
	return c.read(envelope.Params)
}

// checkBatch tells a batch of calls from an array that means something else to the agent.
func checkBatch(body []byte) error {
	var elements []struct {
		Method json.RawMessage `json:"method"`
	}
	if !decodes(body, &elements) {
		return nil
	}
	for _, e := range elements {
		if text(e.Method) != "" {
			return errBatch
		}
	}
	return nil
}

// request is a SendMessageRequest. The second names are those of its protocol buffer, which agents that read the JSON
// form of protocol buffers take as well.
type request struct {
	Tenant        json.RawMessage `json:"tenant"`
	Message       json.RawMessage `json:"message"`
	Configuration struct {
		HistoryLength  json.RawMessage `json:"historyLength"`
		HistoryLength2 json.RawMessage `json:"history_length"`
	} `json:"configuration"`
}

type wireMessage struct {
	ID              json.RawMessage `json:"messageId"`
	ID2             json.RawMessage `json:"message_id"`
	TaskID          json.RawMessage `json:"taskId"`
	TaskID2         json.RawMessage `json:"task_id"`
	ContextID       json.RawMessage `json:"contextId"`
	ContextID2      json.RawMessage `json:"context_id"`
	ReferenceTasks  json.RawMessage `json:"referenceTaskIds"`
	ReferenceTasks2 json.RawMessage `json:"reference_task_ids"`
	Parts           json.RawMessage `json:"parts"`
}

func (c *call) read(params []byte) (*call, error) {
	var req request
	var msg wireMessage
	if !decodes(params, &req) {
		if c.rpc {
			return nil, nil
		}
		return nil, errNotJSON
	}
	if twice(params, "message") {
		return nil, errTwice
	}
	if first(req.Message) != '{' || !decodes(req.Message, &msg) {
		return nil, nil
	}
	if twice(req.Message, "messageId", "taskId", "contextId", "referenceTaskIds", "parts") {
		return nil, errTwice
	}
	c.tenant = text(req.Tenant)
	c.historyLength = either(req.Configuration.HistoryLength, req.Configuration.HistoryLength2)
	c.message = message{
		id:        text(either(msg.ID, msg.ID2)),
		taskID:    text(either(msg.TaskID, msg.TaskID2)),
		contextID: text(either(msg.ContextID, msg.ContextID2)),
	}
	if c.message.id == "" {
		return nil, nil
	}
	body := req.Message
	if len(msg.TaskID2)+len(msg.ContextID2)+len(msg.ReferenceTasks2) > 0 {
		body = msg.respelled()
	}
	var err error
	c.message.digest, err = dedup.DigestJSON(body)
	return c, err
}

// respelled is what counts of a message, under the names of the specification.
func (m wireMessage) respelled() json.RawMessage {
	members := map[string]json.RawMessage{}
	for name, value := range map[string]json.RawMessage{
		"parts": m.Parts, "taskId": either(m.TaskID, m.TaskID2), "contextId": either(m.ContextID, m.ContextID2),
		"referenceTaskIds": either(m.ReferenceTasks, m.ReferenceTasks2),
	} {
		if len(value) > 0 {
			members[name] = value
		}
	}
	return marshal(members)
}

func either(a, b json.RawMessage) json.RawMessage {
	if len(a) > 0 {
		return a
	}
	return b
}
