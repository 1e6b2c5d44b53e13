// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// unwrap takes the card out of a JSON-RPC response; nil where that holds an error.
func unwrap(k kind, document []byte) (inner []byte, envelope map[string]json.RawMessage, err error) {
	if k != cardRPC {
		return document, nil, nil
	}
	if err := decode(document, &envelope); err != nil {
		return nil, nil, fmt.Errorf("extended agent card: %w", err)
	}
	if first(envelope["result"]) != '{' {
		return nil, envelope, nil
	}
	return envelope["result"], envelope, nil
}

func readCard(resp *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxCard+1))
	if err == nil && len(body) > maxCard {
		err = fmt.Errorf("agent card: %w", errLarge)
	}
	return body, err
}

func replaceBody(resp *http.Response, body []byte) {
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	resp.TransferEncoding = nil
	resp.Header.Del("Transfer-Encoding")
	resp.Header.Set("Content-Length", fmt.Sprint(len(body)))
}

// validators are those of the rewritten document, which changes with the proxy's configuration as well as the agent's
// card; a time of change would not say that.
func (c *cardRelay) validators(resp *http.Response, request *cardRequest, body []byte) {
	sum := sha256.Sum256(body)
	tag := `"` + hex.EncodeToString(sum[:16]) + `"`
	resp.Header.Set("ETag", tag)
	resp.Header.Del("Last-Modified")
	resp.Header.Del("Content-Digest")
	if request.kind == cardDocument && resp.Header.Get("Cache-Control") == "" {
		resp.Header.Set("Cache-Control", defaultCache)
	}
	if matches(request.in.Header.Get("If-None-Match"), tag) {
		resp.StatusCode, resp.Status = http.StatusNotModified, ""
		replaceBody(resp, nil)
		resp.Header.Del("Content-Length")
		resp.Header.Del("Content-Type")
	}
}

// matches compares weakly, as If-None-Match wants it (RFC 9110, section 13.1.2).
func matches(list, tag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == "*" || one == tag {
			return true
		}
	}
	return false
}
