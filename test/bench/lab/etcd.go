// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Etcd is an etcd behind an API server.
type Etcd struct{ *clientv3.Client }

// The places of an API server's objects.
const (
	DelegationKeys = "/registry/a2a.delegation.dev/delegations/"
	EventKeys      = "/registry/events/"
	ConfigMapKeys  = "/registry/configmaps/"
)

// Connect opens a client for the etcd at a URL.
func Connect(ctx context.Context, at *url.URL) (Etcd, error) {
	c, err := clientv3.New(clientv3.Config{Context: ctx, Endpoints: []string{at.String()}, DialTimeout: 10 * time.Second})
	return Etcd{c}, err
}

// Size is what an etcd holds.
type Size struct {
	// DB is the size of its file, which never shrinks without defragmentation, and InUse what of that is not free.
	DB, InUse int64
	// Revision counts the writes.
	Revision int64
}

// Size asks for it.
func (e Etcd) Size(ctx context.Context) (Size, error) {
	s, err := e.Status(ctx, e.Endpoints()[0])
	if err != nil {
		return Size{}, err
	}
	return Size{DB: s.DbSize, InUse: s.DbSizeInUse, Revision: s.Header.Revision}, nil
}

// Count is how many keys begin with a prefix.
func (e Etcd) Count(ctx context.Context, prefix string) (int64, error) {
	got, err := e.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return 0, err
	}
	return got.Count, nil
}

// Versions are the values that a key has had since the last compaction, the oldest first.
func (e Etcd) Versions(ctx context.Context, key string) ([][]byte, error) {
	var values [][]byte
	for at := int64(0); ; {
		got, err := e.Get(ctx, key, clientv3.WithRev(at))
		if err != nil {
			return nil, err
		}
		if len(got.Kvs) == 0 {
			return nil, fmt.Errorf("etcd has no key %s at revision %d", key, at)
		}
		kv := got.Kvs[0]
		values = append(values, kv.Value)
		if kv.ModRevision == kv.CreateRevision {
			slices.Reverse(values)
			return values, nil
		}
		at = kv.ModRevision - 1
	}
}
