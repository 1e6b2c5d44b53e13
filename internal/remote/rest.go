// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

var errNoRequest = errors.New("the protocol binding has no such request")

// rest dresses requests as HTTP+JSON (A2A 1.0, section 11): the operation is in the path, the answer is the body without
// an envelope, and an error has the shape of AIP-193.
type rest struct {
	url *url.URL
}

// encode implements binding. The tenant goes into the path and nowhere else: a field that the path binds is not part of
// the body (google.api.http, in a2a.proto).
func (b rest) encode(call outbox.Call, params any) (parcel, error) {
	switch r := params.(type) {
	case *a2a.SendMessageRequest:
		bare := *r
		bare.Tenant = ""
		body, err := json.Marshal(&bare)
		return b.post(b.locate(r.Tenant, "/message:send"), body), err
	case *a2a.GetTaskRequest:
		q := url.Values{}
		addNumber(q, "historyLength", r.HistoryLength)
		return b.get(b.locate(r.Tenant, "/tasks/"+segment(string(r.ID))), q), nil
	case *a2a.ListTasksRequest:
		return b.get(b.locate(r.Tenant, "/tasks"), listQuery(r)), nil
	case *a2a.CancelTaskRequest:
		return b.post(b.locate(r.Tenant, "/tasks/"+segment(string(r.ID))+":cancel"), []byte("{}")), nil
	case *a2a.SubscribeToTaskRequest:
		p := b.get(b.locate(r.Tenant, "/tasks/"+segment(string(r.ID))+":subscribe"), url.Values{})
		p.header.Set("Accept", accepted(call, p.header.Get("Accept")))
		return p, nil
	case *a2a.PushConfig, *a2a.DeleteTaskPushConfigRequest:
		return b.encodePush(params)
	}
	return parcel{}, errNoRequest
}

// listQuery has the names of the specification (A2A 1.0, section 3.1.4), also where the Go SDK's client has others.
func listQuery(r *a2a.ListTasksRequest) url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"contextId": r.ContextID, "pageToken": r.PageToken} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if r.PageSize != 0 {
		q.Set("pageSize", strconv.Itoa(r.PageSize))
	}
	addNumber(q, "historyLength", r.HistoryLength)
	if r.StatusTimestampAfter != nil {
		q.Set("statusTimestampAfter", r.StatusTimestampAfter.UTC().Format(time.RFC3339))
	}
	return q
}

func addNumber(q url.Values, name string, n *int) {
	if n != nil {
		q.Set(name, strconv.Itoa(*n))
	}
}

func (rest) header() http.Header {
	return http.Header{"Accept": {"application/a2a+json, application/json"}}
}

func (b rest) get(u *url.URL, q url.Values) parcel {
	// The endpoint may have a query of its own.
	for name, values := range u.Query() {
		if !q.Has(name) {
			q[name] = values
		}
	}
	u.RawQuery = q.Encode()
	return parcel{method: http.MethodGet, url: u, header: b.header()}
}

// post sends plain application/json, which servers read that have never heard of application/a2a+json.
func (b rest) post(u *url.URL, body []byte) parcel {
	header := b.header()
	header.Set("Content-Type", "application/json")
	return parcel{method: http.MethodPost, url: u, header: header, body: body}
}

// locate returns the URL of an operation, whose path is escaped already. A tenant may be a path of its own, as in
// locations/eu/projects/7.
func (b rest) locate(tenant, operation string) *url.URL {
	u := *b.url
	u.Fragment, u.RawFragment = "", ""
	u.RawPath = strings.TrimRight(b.url.EscapedPath(), "/")
	for _, s := range strings.Split(tenant, "/") {
		if s != "" {
			u.RawPath += "/" + segment(s)
		}
	}
	u.RawPath += operation
	// It can be unescaped, since all of it was escaped.
	u.Path, _ = url.PathUnescape(u.RawPath)
	return &u
}

// segment escapes what is to be one segment of a path, down to the unreserved characters (RFC 3986, section 2.3), as the
// template of google.api.http wants it. Dots alone would lead up the path.
func segment(s string) string {
	if strings.Trim(s, ".") == "" {
		return strings.ReplaceAll(s, ".", "%2E")
	}
	return strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
}

// decode implements binding.
func (rest) decode(_ outbox.Call, _ parcel, ev evidence) answer {
	body, o, fault := jsonBody(ev)
	switch {
	case o == nil:
		return fault
	case ev.status == http.StatusOK, object(o["task"]) != nil, object(o["message"]) != nil:
		return answer{result: body}
	}
	return readStatus(o, ev.status)
}
