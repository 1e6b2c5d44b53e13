// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/oauth2/clientcredentials"
	"k8s.io/utils/clock"
)

// FuzzToken requires of whatever a token endpoint answers: a token that a header can carry, or an error that shows nothing
// of what was asked and answered.
func FuzzToken(f *testing.F) {
	const secret = "s3cr3t"
	for _, body := range []string{
		``, `{}`, `{"access_token":"t-1","token_type":"bearer","expires_in":3600}`, `{"access_token":"t\n1"}`, `{"access_token":7,"expires_in":"x"}`,
		`{"access_token":"t","token_type":"mac"}`, `{"error":"invalid_client","error_description":"client_secret=s3cr3t"}`, `{"error":"s3cr3t\u0007"}`,
		`access_token=t-1&token_type=bearer&expires_in=9999999999999`, `{"access_token":"t","expires_in":-1e300}`,
	} {
		for _, status := range []int{200, 302, 400, 401, 503} {
			f.Add(status, "application/json", []byte(body))
			f.Add(status, "application/x-www-form-urlencoded", []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, status int, contentType string, body []byte) {
		if status < 200 || status > 999 {
			return // no final response
		}
		answer := &http.Response{
			StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {contentType}},
			ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)), Close: true,
		}
		g := &grant{
			config: clientcredentials.Config{ClientID: "operator", ClientSecret: secret, TokenURL: "http://issuer.example.com/token"},
			remedy: "check it", clock: clock.RealClock{},
			dial: func(context.Context, string, string) (net.Conn, error) {
				ours, theirs := net.Pipe()
				go answerOnce(theirs, answer)
				return ours, nil
			},
		}
		got, err := g.fetch(t.Context())
		switch {
		case err == nil && !sendable(got.value):
			t.Errorf("token %q", got.value)
		case err != nil && (!errors.Is(err, ErrTokenEndpoint) || got.value != ""):
			t.Errorf("%v, with token %q", err, got.value)
		case err != nil && (strings.Contains(err.Error(), secret) || strings.ContainsFunc(err.Error(), unicode.IsControl) || len(err.Error()) > 512):
			t.Errorf("error %q", err)
		}
	})
}

// answerOnce is a server of one request. What breaks the connection is the client's to notice.
func answerOnce(conn net.Conn, answer *http.Response) {
	defer func() { _ = conn.Close() }()
	if req, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
		_, _ = io.Copy(io.Discard, req.Body)
		_ = answer.Write(conn)
	}
}
