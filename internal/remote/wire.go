// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// maxStale bounds how often one request moves on from a connection that the server had closed meanwhile.
const maxStale = 3

var errAttemptExpired = errors.New("the attempt's deadline is over")

// wire makes HTTP exchanges with one endpoint. It talks to the transport without an http.Client, so that no redirect is
// followed, no cookie kept and no timeout added.
type wire struct {
	transport *http.Transport
	// url is the endpoint's own, for which credentials are asked.
	url       *url.URL
	authorize func(*http.Request) error
	renew     func(rejected http.Header) bool
	limit     int64
	now       func() time.Time
	// closed says that no connection is to be kept.
	closed atomic.Bool
}

// close drops the idle connections, and those in use once they are idle.
func (w *wire) close() {
	w.closed.Store(true)
	w.transport.CloseIdleConnections()
}

// renewed reports whether there are other credentials than those that were presented and not accepted: with 401, or with a
// protocol error that says the same. It is no matter of credentials when they are known and not enough (403).
func (w *wire) renewed(ex outbox.Exchange, presented http.Header) bool {
	if w.renew == nil || presented == nil {
		return false
	}
	return (ex.Reason == statusReason(http.StatusUnauthorized) || ex.Reason == unauthenticated.reason) && w.renew(presented)
}

// parcel is one request.
type parcel struct {
	method string
	url    *url.URL
	header http.Header
	// body is the message; empty for a request that is all in its URL. plain is its JSON where it is not JSON itself.
	body, plain []byte
	// message is what the answer to a gRPC call consists of; nil where it is something else.
	message protoreflect.MessageDescriptor
	// id is what the answer has to repeat; empty where the binding knows no such thing.
	id string
	// notAfter is the time after which no byte is handed to the transport; zero means any time.
	notAfter time.Time
	// idempotent requests may be made again after they were written.
	idempotent bool
}

// readable is the body as JSON that is the same for the same request.
func (p parcel) readable() []byte {
	switch {
	case p.plain != nil:
		return p.plain
	case p.id != "":
		return bytes.Replace(p.body, encodeData(p.id), []byte(`"1"`), 1)
	}
	return p.body
}

// evidence is what one exchange showed.
type evidence struct {
	// err and reason say why there is no response; written, whether a byte of the message may have left all the same.
	err     error
	reason  string
	written bool
	// status, header, body and trailer are the response. gap is the reason why the body is not complete. transcoded says that
	// the body is the JSON form of the gRPC message that came.
	status     int
	header     http.Header
	body       []byte
	transcoded bool
	trailer    http.Header
	gap        string
	// presented are the headers that the request was authorized with; nil without any.
	presented http.Header
	// private is what was sent and must not be shown.
	private
}

// response is one whose body is still to be read. It has to be closed.
type response struct {
	*http.Response
	gate *gate
	wire *wire
}

// close ends the exchange. A response may come while the message is still being written: what has not left by now never
// will.
func (r *response) close() {
	r.gate.seal()
	// An error on close can't take back what was read.
	_ = r.Body.Close()
	if r.wire.closed.Load() {
		r.wire.transport.CloseIdleConnections()
	}
}

// do makes one exchange.
func (w *wire) do(ctx context.Context, p parcel) evidence {
	ev, resp := w.open(ctx, p)
	if resp != nil {
		defer resp.close()
		ev.read(ctx, resp.Response, w.limit, p.message)
	}
	return ev
}

// open makes one exchange up to the body of the response, which is nil where none came. net/http does not repeat a request
// by itself, not even one with an Idempotency-Key, because the body can't be had twice. What may be repeated is repeated
// here: a request that met a connection which the server had closed meanwhile, if no byte was written or the request is
// idempotent.
func (w *wire) open(ctx context.Context, p parcel) (evidence, *response) {
	for try := 1; ; try++ {
		if err := w.expired(p); err != nil {
			return evidence{err: err, reason: ReasonAttemptExpired}, nil
		}
		ev, resp, stale := w.try(ctx, p)
		if resp != nil || !stale || try == maxStale || ctx.Err() != nil || ev.written && !p.idempotent {
			return ev, resp
		}
		// The other idle connections are as old.
		w.transport.CloseIdleConnections()
	}
}

func (w *wire) expired(p parcel) error {
	if !p.notAfter.IsZero() && !w.now().Before(p.notAfter) {
		return errAttemptExpired
	}
	return nil
}

func (w *wire) try(ctx context.Context, p parcel) (evidence, *response, bool) {
	header, presented, err := w.dress(ctx, p.header)
	if err != nil {
		return evidence{err: err, reason: ReasonCredentialsUnavailable}, nil, false
	}
	ev := evidence{presented: presented, private: private{secrets: secretsIn(presented), request: p.body}}
	if p.plain != nil {
		ev.request = p.plain
	}
	seen := &probe{bare: len(p.body) == 0}
	g := &gate{rest: p.body, begin: seen.begin, allow: func() error {
		if err := seen.ready(ctx); err != nil {
			return err
		}
		return w.expired(p)
	}}
	req, err := p.request(httptrace.WithClientTrace(ctx, seen.trace()), g)
	if err != nil {
		ev.err, ev.reason = err, ReasonRequestNotEncodable
		return ev, nil, false
	}
	req.Header = header
	resp, err := w.transport.RoundTrip(req) //nolint:bodyclose // response.close does
	if err != nil {
		wrote, refused := seen.wrote(g), seen.refusesHandshake(err)
		ev.err, ev.written = err, wrote && !refused
		ev.reason = seen.failure(ctx, g, err, ev.written)
		return ev, nil, seen.stale()
	}
	ev.status, ev.header = resp.StatusCode, resp.Header
	return ev, &response{Response: resp, gate: g, wire: w}, false
}

// request returns the HTTP request whose body is behind the gate.
func (p parcel) request(ctx context.Context, g *gate) (*http.Request, error) {
	if len(p.body) == 0 {
		return http.NewRequestWithContext(ctx, p.method, p.url.String(), http.NoBody)
	}
	req, err := http.NewRequestWithContext(ctx, p.method, p.url.String(), g)
	if err != nil {
		return nil, err
	}
	req.ContentLength = int64(len(p.body))
	return req, nil
}

// dress returns the headers with the credentials, and what the authorizer set. The authorizer gets a request of its own for the endpoint's URL and
// only its headers are taken, so that it can't send the message elsewhere.
func (w *wire) dress(ctx context.Context, base http.Header) (http.Header, http.Header, error) {
	header := base.Clone()
	if w.authorize == nil {
		return header, nil, nil
	}
	form, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url.String(), nil)
	if err != nil {
		return nil, nil, err
	}
	if err := w.authorize(form); err != nil {
		return nil, nil, err
	}
	for name, values := range form.Header {
		for _, v := range values {
			if !headerSafe(v) {
				return nil, nil, fmt.Errorf("header %s has a character that HTTP does not allow, such as a line break at the end of a Secret", name)
			}
		}
		if _, ours := base[name]; !ours {
			header[name] = values
		}
	}
	return header, form.Header, nil
}

// secretsIn lists what is not to be shown of the headers that carry credentials.
func secretsIn(presented http.Header) []string {
	var secrets []string
	for _, values := range presented {
		for _, v := range values {
			secrets = append(secrets, secretsOf(v)...)
		}
	}
	return secrets
}

// secretsOf lists a header value and the parts of it that are secret by themselves (RFC 9110, section 11.4; RFC 7617).
func secretsOf(value string) []string {
	secrets := []string{value}
	scheme, rest, ok := strings.Cut(value, " ")
	if !ok {
		return secrets
	}
	secrets = append(secrets, rest)
	if plain, err := base64.StdEncoding.DecodeString(rest); err == nil && strings.EqualFold(scheme, "Basic") {
		if _, password, ok := strings.Cut(string(plain), ":"); ok {
			secrets = append(secrets, password)
		}
	}
	return secrets
}

// read takes the response as far as it comes, within the limit. message is what a gRPC call is answered with.
func (ev *evidence) read(ctx context.Context, resp *http.Response, limit int64, message protoreflect.MessageDescriptor) {
	if resp.StatusCode == http.StatusSwitchingProtocols {
		// Its body is the connection, which has no end.
		return
	}
	body, transcoded, err := readBody(resp.Body, limit, message)
	switch {
	case errors.Is(err, errTooLarge):
		ev.gap = ReasonResponseTooLarge
	case errors.Is(err, errNoMessage):
		ev.gap = ReasonInvalidResponse
	case err == nil:
		ev.body, ev.transcoded, ev.trailer = body, transcoded, resp.Trailer
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		ev.gap = ReasonTimeout
	case ctx.Err() != nil:
		ev.gap = ReasonCanceled
	default:
		ev.gap = ReasonResponseTruncated
	}
}

// headerSafe reports whether HTTP allows the value and shows it as it is.
func headerSafe(v string) bool {
	for i := range len(v) {
		if v[i] < ' ' || v[i] > '~' {
			return false
		}
	}
	return true
}
