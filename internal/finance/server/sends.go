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

// send is a request that sends a message, as the HTTP edge sees it.
type send struct {
	key       dedup.Key
	digest    string // of the message's body; empty where it has none
	streaming bool
}

type sendKey struct{}

// sendOf is the send that a request carries, or nil for other calls and for requests that the transport
// will refuse.
func sendOf(r *http.Request) *send {
	s, _ := r.Context().Value(sendKey{}).(*send)
	return s
}

// readSends reads each request to its end, finds out whether it sends a message, and enters those that do
// into the ledger. A request is read whole before anything is done about it: a body that breaks off must
// make no task.
func readSends(ledger *ledger, next http.Handler) http.Handler {
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
		if s := parseSend(r, body); s != nil {
			ledger.received(s)
			r = r.WithContext(context.WithValue(r.Context(), sendKey{}, s))
		}
		next.ServeHTTP(w, r)
	})
}

// parseSend knows the two bindings' ways to say SendMessage and SendStreamingMessage (A2A 1.0, sections 9
// and 11).
func parseSend(r *http.Request, body []byte) *send {
	if r.Method != http.MethodPost {
		return nil
	}
	request, method := body, ""
	switch action, isREST := strings.CutPrefix(r.URL.Path, RESTPath+"/message:"); {
	case isREST:
		method = map[string]string{"send": "SendMessage", "stream": "SendStreamingMessage"}[action]
	case r.URL.Path == JSONRPCPath:
		var call struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if json.Unmarshal(body, &call) != nil {
			return nil
		}
		request, method = call.Params, call.Method
	}
	if method != "SendMessage" && method != "SendStreamingMessage" {
		return nil
	}
	var params a2a.SendMessageRequest
	if json.Unmarshal(request, &params) != nil || params.Message == nil || params.Message.ID == "" {
		return nil
	}
	s := &send{
		key:       dedup.Key{Principal: principalOf(r.Context()), MessageID: params.Message.ID},
		streaming: method == "SendStreamingMessage",
	}
	s.digest, _ = dedup.Digest(params.Message) // what came as JSON always has one
	return s
}
