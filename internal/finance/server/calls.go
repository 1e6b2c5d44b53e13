package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

// maxBody bounds a request in bytes: many times the tables of a large month.
const maxBody = 8 << 20

// The A2A methods that the agent serves, as JSON-RPC names them (A2A 1.0, section 9).
const (
	sendMessage          = "SendMessage"
	sendStreamingMessage = "SendStreamingMessage"
	getTask              = "GetTask"
	listTasks            = "ListTasks"
	cancelTask           = "CancelTask"
	subscribeToTask      = "SubscribeToTask"
)

var methods = []string{sendMessage, sendStreamingMessage, getTask, listTasks, cancelTask, subscribeToTask}

// call is a request as the HTTP edge sees it, the same for both bindings.
type call struct {
	method string
	send   *send // nil for other methods, and for sends that the transport will refuse
}

// send is a call that sends a message.
type send struct {
	key    dedup.Key
	digest string // of the message's body; empty where it has none
}

type (
	bodyKey struct{}
	callKey struct{}
)

// callOf is what a request asks for; its zero value where that is nothing the agent knows.
func callOf(r *http.Request) call {
	c, _ := r.Context().Value(callKey{}).(call)
	return c
}

// readBodies reads each request to its end before anything is done about it: a body that breaks off must make no
// task, and a client that is still writing when it is refused may see the connection reset in place of the answer.
func readBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			status := http.StatusBadRequest
			if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
				status = http.StatusRequestEntityTooLarge
			}
			http.Error(w, "request body can't be read", status)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), bodyKey{}, body)))
	})
}

// readCalls finds out what each request asks for, and enters those that send a message into the ledger, under
// the name of their caller.
func readCalls(ledger *ledger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := r.Context().Value(bodyKey{}).([]byte)
		c := parseCall(r, body)
		if c.send != nil {
			ledger.received(c.send)
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callKey{}, c)))
	})
}

func parseCall(r *http.Request, body []byte) call {
	method, params := methodOf(r, body)
	c := call{method: method}
	if method == sendMessage || method == sendStreamingMessage {
		c.send = parseSend(r.Context(), params)
	}
	return c
}

// methodOf knows the two bindings' ways to name a method, and where each has the request.
func methodOf(r *http.Request, body []byte) (method string, params []byte) {
	if path, isREST := strings.CutPrefix(r.URL.Path, RESTPath); isREST {
		return restMethod(r.Method, path), body
	}
	var envelope struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if r.Method != http.MethodPost || json.Unmarshal(body, &envelope) != nil {
		return "", nil
	}
	return envelope.Method, envelope.Params
}

// restMethod is the method behind a request of the HTTP+JSON binding (A2A 1.0, section 11), or "". The SDK's
// client subscribes with POST, the specification has GET.
func restMethod(verb, path string) string {
	id, isTask := strings.CutPrefix(path, "/tasks/")
	_, action, _ := strings.Cut(id, ":")
	switch post := verb == http.MethodPost; {
	case post && path == "/message:send":
		return sendMessage
	case post && path == "/message:stream":
		return sendStreamingMessage
	case !post && path == "/tasks":
		return listTasks
	case isTask && action == "subscribe":
		return subscribeToTask
	case isTask && post && action == "cancel":
		return cancelTask
	case isTask && !post && !strings.Contains(id, "/"):
		return getTask
	}
	return ""
}

func parseSend(ctx context.Context, request []byte) *send {
	var params a2a.SendMessageRequest
	if json.Unmarshal(request, &params) != nil || params.Message == nil || params.Message.ID == "" {
		return nil
	}
	s := &send{key: dedup.Key{Principal: principalOf(ctx), MessageID: params.Message.ID}}
	s.digest, _ = dedup.Digest(params.Message) // what came as JSON always has one
	return s
}
