// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package card_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
	"github.com/delegation-dev/delegation-operator/internal/dedupproxy/card"
)

var update = flag.Bool("update", false, "write the golden files anew")

func address(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func options(t *testing.T) card.Options {
	return card.Options{
		Upstream: address(t, "http://127.0.0.1:8090/agent"), Aliases: []*url.URL{address(t, "https://finance.internal")},
		Public: address(t, "https://finance.example.com/a"), Extension: dedup.Extension(72 * time.Hour),
	}
}

// TestGolden rewrites testdata/*.json into *.golden, with what is told about it.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no cards", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			document, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r, err := card.Rewrite(document, options(t))
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := json.Indent(&got, r.JSON, "", "  "); err != nil {
				t.Fatal(err)
			}
			for _, one := range r.Dropped {
				got.WriteString("\ndropped " + one)
			}
			if r.Signatures {
				got.WriteString("\nsignatures dropped")
			}
			got.WriteString("\n")
			golden := strings.TrimSuffix(file, ".json") + ".golden"
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got.String(), want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for document, want := range map[string]error{
		``: card.ErrInvalid, `[]`: card.ErrInvalid, `null`: card.ErrInvalid, `{}`: card.ErrInvalid,
		`{"supportedInterfaces":7}`:  card.ErrInvalid,
		`{"supportedInterfaces":[]}`: card.ErrNoInterface,
		`{"supportedInterfaces":[{"url":"http://elsewhere","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`:                                       card.ErrNoInterface,
		`{"supportedInterfaces":[{"url":"http://127.0.0.1:8090/agent2","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`:                           card.ErrNoInterface,
		`{"supportedInterfaces":[{"url":"http://127.0.0.1:8090/agent","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":[]}`:          card.ErrInvalid,
		`{"supportedInterfaces":[{"url":"http://127.0.0.1:8090/agent","protocolBinding":"JSONRPC"}],"capabilities":{"extensions":{"uri":"not a list"}}}`: card.ErrInvalid,
	} {
		if _, err := card.Rewrite([]byte(document), options(t)); !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", document, err, want)
		}
	}
}

func TestRESTPaths(t *testing.T) {
	document := `{"supportedInterfaces":[
		{"url":"http://127.0.0.1:8090/agent/rest","protocolBinding":"HTTP+JSON"},
		{"url":"https://finance.internal/v%201","protocolBinding":"HTTP+JSON"},
		{"url":"https://unknown.example.com/x","protocolBinding":"HTTP+JSON"},
		{"url":"http://127.0.0.1:8090/agent/a2a","protocolBinding":"JSONRPC"}]}`
	got, err := card.RESTPaths([]byte(document), options(t))
	if want := []string{"/rest", "/v 1", "/x"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
