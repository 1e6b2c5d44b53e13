// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// statusCases are HTTP statuses from something that says no more, as load balancers and frameworks do.
func statusCases() []sendCase {
	table := []struct {
		status  int
		outcome outbox.Outcome
		reason  string
	}{
		{201, outbox.Ambiguous, remote.ReasonUnexpectedStatus},
		{202, outbox.Ambiguous, remote.ReasonUnexpectedStatus},
		{204, outbox.Ambiguous, remote.ReasonUnexpectedStatus},
		{400, outbox.Refused, "BadRequest"},
		{401, outbox.Unauthorized, "Unauthorized"},
		{403, outbox.Unauthorized, "Forbidden"},
		{404, outbox.NotSent, remote.ReasonEndpointNotFound},
		{405, outbox.NotSent, remote.ReasonEndpointNotFound},
		{408, outbox.Ambiguous, "RequestTimeout"},
		{409, outbox.InProgress, remote.ReasonInProgress},
		{410, outbox.Ambiguous, "Gone"},
		{413, outbox.Refused, "RequestEntityTooLarge"},
		{415, outbox.Refused, "UnsupportedMediaType"},
		{418, outbox.Ambiguous, "Imateapot"},
		{422, outbox.Refused, "UnprocessableEntity"},
		{425, outbox.InProgress, remote.ReasonInProgress},
		{429, outbox.NotSent, remote.ReasonTooManyRequests},
		{500, outbox.Ambiguous, "InternalServerError"},
		{502, outbox.Ambiguous, "BadGateway"},
		{503, outbox.Ambiguous, "ServiceUnavailable"},
		{504, outbox.Ambiguous, "GatewayTimeout"},
		{599, outbox.Ambiguous, "HTTPStatus599"},
	}
	var cases []sendCase
	for _, row := range table {
		body := "<html>" + content + "</html>"
		if row.status == http.StatusNoContent {
			body = ""
		}
		cases = append(cases, sendCase{
			name:  fmt.Sprintf("%s: HTTP %d without a protocol error", row.outcome, row.status),
			agent: answering(row.status, http.Header{"Content-Type": {"text/html"}}, body), received: 1,
			outcome: row.outcome, reason: row.reason,
		})
	}
	return append(cases,
		sendCase{
			name: "Ambiguous: HTTP 200 with HTML", agent: answering(200, http.Header{"Content-Type": {"text/html; charset=utf-8"}}, "<html>login</html>"),
			outcome: outbox.Ambiguous, reason: remote.ReasonUnexpectedContentType, received: 1,
		}, sendCase{
			name:    "Ambiguous: HTTP 200 with a task and the wrong content type",
			agent:   answering(200, http.Header{"Content-Type": {"text/plain"}}, resultBody(`{"task":{"id":"t-1","status":{"state":"TASK_STATE_WORKING"}}}`)),
			outcome: outbox.Ambiguous, reason: remote.ReasonUnexpectedContentType, received: 1,
		}, sendCase{
			name: "Ambiguous: HTTP 200 with an empty body", agent: answering(200, jsonHeader(), ""),
			outcome: outbox.Ambiguous, reason: remote.ReasonInvalidResponse, received: 1,
		}, sendCase{
			name:    "Ambiguous: HTTP 404 with a task contradicts itself",
			agent:   answering(404, jsonHeader(), resultBody(`{"task":{"id":"t-1","status":{"state":"TASK_STATE_WORKING"}}}`)),
			outcome: outbox.Ambiguous, reason: remote.ReasonUnexpectedStatus, received: 1,
		})
}

// redirectCases lead to a second server, which must not hear of it.
func redirectCases() []sendCase {
	var cases []sendCase
	for _, status := range []int{301, 302, 303, 307, 308} {
		cases = append(cases, sendCase{
			name: "Ambiguous: HTTP " + strconv.Itoa(status) + " is not followed",
			agent: func(t *testing.T) *agent {
				var heard atomic.Int32
				elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { heard.Add(1) }))
				t.Cleanup(func() {
					elsewhere.Close()
					if heard.Load() != 0 {
						t.Errorf("the second server received %d requests", heard.Load())
					}
				})
				return answering(status, http.Header{"Location": {elsewhere.URL + "/?token=" + secret}}, "")(t)
			},
			outcome: outbox.Ambiguous, reason: remote.ReasonRedirected, received: 1,
		})
	}
	return cases
}

// retryAfterCases are read against a clock that stands still.
func retryAfterCases() []sendCase {
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	table := []struct {
		what, value string
		want        time.Duration
	}{
		{"seconds", "7", 7 * time.Second},
		{"zero", "0", 0},
		{"a date", now.Add(90 * time.Second).Format(http.TimeFormat), 90 * time.Second},
		{"a date of long ago", now.Add(-time.Hour).Format(http.TimeFormat), 0},
		{"a date of next year", now.AddDate(1, 0, 0).Format(http.TimeFormat), 15 * time.Minute},
		{"garbage", "soon", 0},
		{"a fraction", "1.5", 0},
		{"a negative number", "-30", 0},
		{"a huge number", "99999999999999999999999", 15 * time.Minute},
	}
	var cases []sendCase
	for _, row := range table {
		cases = append(cases, sendCase{
			name:  "NotSent: HTTP 429 and Retry-After is " + row.what,
			agent: answering(429, http.Header{"Retry-After": {row.value}}, ""), received: 1,
			adapt:   func(c *remote.Config) { c.Now = func() time.Time { return now } },
			token:   func(t testing.TB) outbox.Token { return tokenUntil(t, time.Now().Add(100*365*24*time.Hour)) },
			outcome: outbox.NotSent, reason: remote.ReasonTooManyRequests, retryAfter: row.want,
		})
	}
	for status, reason := range map[int]string{503: "ServiceUnavailable", 502: "BadGateway"} {
		cases = append(cases, sendCase{
			name:  fmt.Sprintf("Ambiguous: HTTP %d with Retry-After proves no more than without", status),
			agent: answering(status, http.Header{"Retry-After": {"20"}}, ""), received: 1,
			outcome: outbox.Ambiguous, reason: reason, retryAfter: 20 * time.Second,
		})
	}
	return append(cases, sendCase{
		name: "InProgress: HTTP 409 with Retry-After", agent: answering(409, http.Header{"Retry-After": {"1"}}, ""), received: 1,
		outcome: outbox.InProgress, reason: remote.ReasonInProgress, retryAfter: time.Second,
	})
}
