// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
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
	params := value(body)
	if first(params) != '{' {
		return nil, errNotJSON
	}
	return (&call{stream: stream, prefix: prefix}).read(params)
}

func readRPC(body []byte) (*call, error) {
	switch first(body) {
	case '[':
		return nil, checkBatch(body)
	case '{':
	default:
		return nil, nil
	}
	envelope := value(body)
	if envelope == nil {
		return nil, nil // no agent can read it
	}
	members := pick(envelope, "method", "params", "id")
	method, params, id := members[0], members[1], members[2].value
	if twice(method, params) {
		return nil, errTwice
	}
	name := text(method.value)
	if name != methodSend && name != methodStream {
		return nil, nil
	}
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	if first(params.value) != '{' {
		return nil, nil
	}
	return (&call{rpc: true, stream: name == methodStream, id: id}).read(params.value)
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

// messageMembers are what the proxy needs of a message, first its id and then what counts of it. protoMembers are the same by
// the names of the protocol buffer, which agents that read the JSON form of protocol buffers take as well.
var (
	messageMembers = []string{"messageId", "taskId", "contextId", "referenceTaskIds", "parts"}
	protoMembers   = []string{"message_id", "task_id", "context_id", "reference_task_ids", "parts"}
)

// read reads a SendMessageRequest.
func (c *call) read(params json.RawMessage) (*call, error) {
	request := pick(params, "message", "tenant", "configuration")
	configuration := request[2].value
	if !unset(configuration) && first(configuration) != '{' {
		if c.rpc {
			return nil, nil
		}
		return nil, errNotJSON
	}
	if twice(request[0]) {
		return nil, errTwice
	}
	body := request[0].value
	if first(body) != '{' {
		return nil, nil
	}
	msg := pick(body, slices.Concat(messageMembers, protoMembers)...)
	msg, proto := msg[:len(messageMembers)], msg[len(messageMembers):]
	if twice(msg...) {
		return nil, errTwice
	}
	c.tenant = text(request[1].value)
	length := pick(configuration, "historyLength", "history_length")
	c.historyLength = either(length[0], length[1])
	c.message = message{
		id: text(either(msg[0], proto[0])), taskID: text(either(msg[1], proto[1])), contextID: text(either(msg[2], proto[2])),
	}
	if c.message.id == "" {
		return nil, nil
	}
	var err error
	c.message.digest, err = dedup.DigestJSON(respelled(body, msg, proto))
	return c, err
}

// respelled is a message with what counts of it under the names of the specification.
func respelled(body json.RawMessage, msg, proto []member) json.RawMessage {
	if proto[1].times+proto[2].times+proto[3].times == 0 {
		return body
	}
	members := map[string]json.RawMessage{}
	for i := 1; i < len(msg); i++ {
		if value := either(msg[i], proto[i]); value != nil {
			members[messageMembers[i]] = value
		}
	}
	return marshal(members)
}

// either is the value of the first that is there.
func either(a, b member) json.RawMessage {
	if a.times > 0 {
		return a.value
	}
	return b.value
}
