// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"net/http"
	"strconv"
	"strings"
	"unicode"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// Reasons of an exchange that no HTTP status and no protocol error names. Next to them Exchange.Reason holds the name of
// an A2A or JSON-RPC error (TaskNotFound, InvalidParams, …), or an HTTP status' own words (BadGateway, Forbidden, …).
const (
	// ReasonNoToken: the caller had no token, so that nothing was sent.
	ReasonNoToken = "NoToken"
	// ReasonNoMessage: the request held no message, so that nothing was sent.
	ReasonNoMessage = "NoMessage"
	// ReasonAttemptExpired: the attempt's deadline was over before a byte of the message was written.
	ReasonAttemptExpired = "AttemptExpired"
	// ReasonRequestNotEncodable: the request has no JSON form.
	ReasonRequestNotEncodable = "RequestNotEncodable"
	// ReasonCredentialsUnavailable: the credentials could not be had, or can't be written into a header.
	ReasonCredentialsUnavailable = "CredentialsUnavailable"
	// ReasonNameNotResolved: DNS did not know the agent's host.
	ReasonNameNotResolved = "NameNotResolved"
	// ReasonEgressDenied: the manager's flags, or its defaults, forbid a connection to the agent's host or address.
	ReasonEgressDenied = "EgressDenied"
	// ReasonConnectionFailed: no connection could be made.
	ReasonConnectionFailed = "ConnectionFailed"
	// ReasonTLSFailed: the TLS handshake failed.
	ReasonTLSFailed = "TLSFailed"
	// ReasonHTTP2Unavailable: the server does not speak HTTP/2, which gRPC needs.
	ReasonHTTP2Unavailable = "HTTP2Unavailable"
	// ReasonConnectionLost: the connection was gone before a byte of the message was written.
	ReasonConnectionLost = "ConnectionLost"
	// ReasonCanceled: the caller gave up.
	ReasonCanceled = "Canceled"
	// ReasonTimeout: the time that the caller gave was over.
	ReasonTimeout = "Timeout"
	// ReasonTooManyRequests: HTTP 429.
	ReasonTooManyRequests = "TooManyRequests"
	// ReasonEndpointNotFound: HTTP 404 or 405 from something that does not speak A2A at this URL.
	ReasonEndpointNotFound = "EndpointNotFound"
	// ReasonInProgress: the agent has the message and works on its first copy.
	ReasonInProgress = "InProgress"
	// ReasonDigestMismatch: the agent knows the messageId with another body.
	ReasonDigestMismatch = "DigestMismatch"
	// ReasonOutcomeUnknown: the agent had the message before and does not know what became of it.
	ReasonOutcomeUnknown = "OutcomeUnknown"
	// ReasonResponseLost: the message was written and the connection ended without a response.
	ReasonResponseLost = "ResponseLost"
	// ReasonResponseTruncated: the response ended before it was complete.
	ReasonResponseTruncated = "ResponseTruncated"
	// ReasonResponseTooLarge: the response is over Limits.ResponseBytes.
	ReasonResponseTooLarge = "ResponseTooLarge"
	// ReasonUnexpectedContentType: the response is not JSON by its own word.
	ReasonUnexpectedContentType = "UnexpectedContentType"
	// ReasonUnexpectedStatus: a success status that carries no answer, such as 202 or 204.
	ReasonUnexpectedStatus = "UnexpectedStatus"
	// ReasonRedirected: HTTP 3xx. Redirects are not followed.
	ReasonRedirected = "Redirected"
	// ReasonInvalidResponse: the response is not an answer to the request.
	ReasonInvalidResponse = "InvalidResponse"
	// ReasonForeignResponse: the response answers another request (JSON-RPC 2.0, section 5: id).
	ReasonForeignResponse = "ForeignResponse"
	// ReasonEmptyTask: the answer holds a task without an id or without a state.
	ReasonEmptyTask = "EmptyTask"
	// ReasonEmptyMessage: the answer holds a message without an id and without parts.
	ReasonEmptyMessage = "EmptyMessage"
	// ReasonForeignTask: the answer holds another task than the one that was named.
	ReasonForeignTask = "ForeignTask"
	// ReasonServerError: a protocol error that says nothing about whether the request was acted on.
	ReasonServerError = "ServerError"
	// ReasonRequestRefused: an error that is not known by name, of a class that says that the request was not acted on.
	ReasonRequestRefused = "RequestRefused"
	// ReasonMethodNotFound: the agent has no such operation (JSON-RPC 2.0, section 5.1).
	ReasonMethodNotFound = "MethodNotFound"
	// ReasonTaskNotFound: the agent does not have the task (A2A 1.0, TaskNotFoundError).
	ReasonTaskNotFound = "TaskNotFound"
	// ReasonPushNotSupported: the agent sends no push notifications (A2A 1.0, PushNotificationNotSupportedError).
	ReasonPushNotSupported = "PushNotificationNotSupported"
	// ReasonTaskNotCancelable: the task has ended (A2A 1.0, TaskNotCancelableError).
	ReasonTaskNotCancelable = "TaskNotCancelable"
	// ReasonMessageNotFound: no task that the agent shows has the message.
	ReasonMessageNotFound = "MessageNotFound"
	// ReasonHistoryMissing: no task shows the message, and at least one shows no history that could.
	ReasonHistoryMissing = outbox.ReasonHistoryMissing
	// ReasonListingChanged: the agent's tasks changed from pass to pass, so that an absence proves nothing.
	ReasonListingChanged = "ListingChanged"
	// ReasonListingEndless: the agent's listing has more pages than a lookup reads, or leads in a circle.
	ReasonListingEndless = "ListingEndless"
	// ReasonLookupUnsupported: the agent does not list its tasks to this caller, or has no way to.
	ReasonLookupUnsupported = "LookupUnsupported"
	// ReasonFilterIgnored: the agent lists tasks that the listing's filter excludes.
	ReasonFilterIgnored = "FilterIgnored"
)

// statusReason is an HTTP status as a CamelCase word: 502 is BadGateway.
func statusReason(status int) string {
	text := http.StatusText(status)
	if text == "" {
		return "HTTPStatus" + strconv.Itoa(status)
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return -1
	}, text)
}
