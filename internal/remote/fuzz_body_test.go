// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// FuzzBody reads bodies of any length through a small limit: no more than the limit is kept and no more than its share is
// read, however the body comes in pieces. What was JSON stays JSON.
func FuzzBody(f *testing.F) {
	long := strings.Repeat("x", 700)
	for _, body := range []string{
		``, `{}`, `[1,2]`, "\xEF\xBB\xBF{}", `{"result":{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING","message":{"parts":[{"text":"` + long + `"}]}}}}}`,
		`{"result":{"task":{"artifacts":[{"parts":[{"text":"` + long + `"},{"data":{"a":[` + strings.Repeat("1,", 400) + `1]}}]},{},{},7]}}}`,
		`{"result":{"history":[{"messageId":"` + long + `"},{"parts":[{"raw":"` + long + `"}]}]}}`, `{"odd\u0061":"` + long + `\ud800","tasks":[` + strings.Repeat("{},", 300) + `{}]}`,
		`{"a":` + long + `}`, `{"text":"` + strings.Repeat(`\u0000\\\"`, 90) + `"}}}]`,
	} {
		f.Add([]byte(body))
	}
	const limit = 1024
	f.Fuzz(func(t *testing.T, body []byte) {
		from := &counting{from: bytes.NewReader(body)}
		got, _, err := readBody(from, limit, nil)
		pieces, _, piecesErr := readBody(iotest.OneByteReader(bytes.NewReader(body)), limit, nil)
		if most := int64(limit*readShare + limit + bodyChunk); from.read > most {
			t.Errorf("%d bytes were read, and at most %d may be", from.read, most)
		}
		if err != nil {
			return
		}
		if len(got) > limit {
			t.Errorf("%d bytes are kept, and at most %d may be", len(got), limit)
		}
		if len(body) > limit*readShare {
			return // where it ends depends on the pieces
		}
		if piecesErr != nil || !bytes.Equal(got, pieces) {
			t.Errorf("%q, in pieces %q, %v", got, pieces, piecesErr)
		}
		if was, is := json.Valid(unmarked(body)), json.Valid(unmarked(got)); was && !is {
			t.Errorf("JSON of %d bytes became %q", len(body), got)
		}
	})
}

type counting struct {
	from io.Reader
	read int64
}

func (m *counting) Read(b []byte) (int, error) {
	n, err := m.from.Read(b)
	m.read += int64(n)
	return n, err
}
