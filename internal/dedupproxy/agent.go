// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

const (
	// historyLength is how much of a task's history is asked for in a search; it is always said, since some agents show
	// none to a request that doesn't.
	historyLength = 1000
	pageSize      = 100
	// ownID is the id of the proxy's own calls.
	ownID = `"dedup-proxy"`
)

var errLarge = errors.New("the response is larger than the limit")

// reading is what the agent answered to a call of the proxy's own. With neither a result nor a failure the answer is
// none of the protocol's.
type reading struct {
	whole answer
	// result is the Task or the ListTasksResponse.
	result json.RawMessage
	// failure is the error object, and fault its A2A reason.
	failure json.RawMessage
	fault   string
}

// asker makes calls to the agent in the name, by the binding and at the endpoint of one send.
type asker struct {
	proxy *Proxy
	in    *http.Request
	call  *call
}

// getTask asks for a task (A2A 1.0, section 3.1.3). length is the JSON of a number, nil for what the agent shows unasked.
func (a asker) getTask(ctx context.Context, id string, length json.RawMessage) (reading, error) {
	if a.call.rpc {
		params := map[string]any{"id": id}
		if !unset(length) {
			params["historyLength"] = length
		}
		return a.rpc(ctx, methodGetTask, params)
	}
	query := url.Values{}
	if !unset(length) {
		query.Set("historyLength", strings.Trim(string(length), `" `))
	}
	return a.rest(ctx, "/tasks/"+segment(id), query)
}

// listTasks asks for one page of tasks (A2A 1.0, section 3.1.4), of one context where one is given.
func (a asker) listTasks(ctx context.Context, contextID, token string) (reading, error) {
	if a.call.rpc {
		params := map[string]any{"pageSize": pageSize, "historyLength": historyLength}
		if contextID != "" {
			params["contextId"] = contextID
		}
		if token != "" {
			params["pageToken"] = token
		}
		return a.rpc(ctx, methodList, params)
	}
	query := url.Values{"pageSize": {strconv.Itoa(pageSize)}, "historyLength": {strconv.Itoa(historyLength)}}
	if contextID != "" {
		query.Set("contextId", contextID)
	}
	if token != "" {
		query.Set("pageToken", token)
	}
	return a.rest(ctx, "/tasks", query)
}

func (a asker) rpc(ctx context.Context, method string, params map[string]any) (reading, error) {
	if a.call.tenant != "" {
		params["tenant"] = a.call.tenant
	}
	body := marshal(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(ownID), "method": method, "params": params})
	u := *a.in.URL
	whole, err := a.exchange(ctx, method, a.proxy.inTheNameOf(ctx, a.in, http.MethodPost, &u, body))
	if err != nil {
		return reading{}, err
	}
	got := reading{whole: whole}
	var envelope struct{ Result, Error json.RawMessage }
	if !isJSON(whole.header) || decode(whole.body, &envelope) != nil {
		return got, nil
	}
	switch {
	case first(envelope.Error) == '{':
		got.failure, got.fault = envelope.Error, judgeError(envelope.Error).fault
	case whole.status == http.StatusOK && first(envelope.Result) == '{':
		got.result = envelope.Result
	}
	return got, nil
}

// rest keeps the query of the send, which may hold an API key.
func (a asker) rest(ctx context.Context, operation string, query url.Values) (reading, error) {
	for name, values := range a.in.URL.Query() {
		if !query.Has(name) {
			query[name] = values
		}
	}
	if a.call.tenant != "" && !strings.HasSuffix(a.call.prefix, "/"+segment(a.call.tenant)) {
		query.Set("tenant", a.call.tenant)
	}
	u := *a.in.URL
	u.RawPath = a.call.prefix + operation
	u.Path, _ = url.PathUnescape(u.RawPath) // all of it is escaped
	u.RawQuery = query.Encode()
	method := methodList
	if operation != "/tasks" {
		method = methodGetTask
	}
	whole, err := a.exchange(ctx, method, a.proxy.inTheNameOf(ctx, a.in, http.MethodGet, &u, nil))
	if err != nil {
		return reading{}, err
	}
	got := reading{whole: whole}
	var shape struct {
		Error json.RawMessage
	}
	if !isJSON(whole.header) || first(whole.body) != '{' || decode(whole.body, &shape) != nil {
		return got, nil
	}
	switch {
	case first(shape.Error) == '{':
		got.failure, got.fault = shape.Error, judgeREST(whole.body).fault
		if got.fault == "" && whole.status == http.StatusNotFound && method == methodGetTask {
			got.fault = a2a.ErrorReason(a2a.ErrTaskNotFound)
		}
	case whole.status == http.StatusOK:
		got.result = unmarked(whole.body)
	}
	return got, nil
}

// exchange reads a response whole.
func (a asker) exchange(ctx context.Context, method string, out *http.Request) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	start := time.Now()
	defer func() {
		a.proxy.Metrics.observeUpstream(method, time.Since(start))
		spent(ctx, time.Since(start))
	}()
	resp, err := a.proxy.Transport.RoundTrip(out.WithContext(ctx))
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", method, err)
	}
	return a.proxy.readAnswer(resp)
}

// readAnswer reads a response to its end, and closes it.
func (p *Proxy) readAnswer(resp *http.Response) (answer, error) {
	defer func() { _ = resp.Body.Close() }() // what was read can't be taken back
	body, err := io.ReadAll(io.LimitReader(resp.Body, p.MaxResponse+1))
	if err == nil && int64(len(body)) > p.MaxResponse {
		err = errLarge
	}
	return answer{status: resp.StatusCode, header: resp.Header, body: body}, err
}

// segment escapes what is to be one segment of a path, down to the unreserved characters (RFC 3986, section 2.3).
// Dots alone would lead up the path.
func segment(s string) string {
	if strings.Trim(s, ".") == "" {
		return strings.ReplaceAll(s, ".", "%2E")
	}
	return strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
}
