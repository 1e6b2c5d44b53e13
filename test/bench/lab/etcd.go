// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Etcd is the JSON gateway of an etcd.
type Etcd struct{ URL *url.URL }

// The places of an API server's objects.
const (
	DelegationKeys = "/registry/a2a.delegation.dev/delegations/"
	EventKeys      = "/registry/events/"
)

// Size is what an etcd holds.
type Size struct {
	// DB is the size of its file, which never shrinks without defragmentation, and InUse what of that is not free.
	DB, InUse int64
	// Revision counts the writes.
	Revision int64
}

// Size asks for it.
func (e Etcd) Size(ctx context.Context) (Size, error) {
	var out struct {
		Header  struct{ Revision number }
		DBSize  number
		InUse   number `json:"dbSizeInUse"`
		Version string
	}
	if err := e.call(ctx, "/v3/maintenance/status", map[string]any{}, &out); err != nil {
		return Size{}, err
	}
	return Size{DB: int64(out.DBSize), InUse: int64(out.InUse), Revision: int64(out.Header.Revision)}, nil
}

// Count is how many keys begin with a prefix.
func (e Etcd) Count(ctx context.Context, prefix string) (int64, error) {
	end := []byte(prefix)
	end[len(end)-1]++
	var out struct{ Count number }
	err := e.call(ctx, "/v3/kv/range", map[string]any{"key": []byte(prefix), "range_end": end, "count_only": true}, &out)
	return int64(out.Count), err
}

// Versions are the values that a key has had since the last compaction, the oldest first.
func (e Etcd) Versions(ctx context.Context, key string) ([][]byte, error) {
	var values [][]byte
	for at := int64(0); ; {
		var out struct {
			KVs []struct {
				Value          []byte
				ModRevision    number `json:"mod_revision"`
				CreateRevision number `json:"create_revision"`
			} `json:"kvs"`
		}
		if err := e.call(ctx, "/v3/kv/range", map[string]any{"key": []byte(key), "revision": at}, &out); err != nil {
			return nil, err
		}
		if len(out.KVs) == 0 {
			return nil, fmt.Errorf("etcd has no key %s at revision %d", key, at)
		}
		kv := out.KVs[0]
		values = append([][]byte{kv.Value}, values...)
		if kv.ModRevision == kv.CreateRevision {
			return values, nil
		}
		at = int64(kv.ModRevision) - 1
	}
}

func (e Etcd) call(ctx context.Context, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL.JoinPath(path).String(), bytes.NewReader(data))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	answered, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd: %s: %s: %s", path, resp.Status, answered)
	}
	return json.Unmarshal(answered, into)
}

// number is a 64-bit number, which the gateway gives as a string, and leaves out where it is zero.
type number int64

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseInt(string(bytes.Trim(text, `"`)), 10, 64)
	*n = number(v)
	return err
}
