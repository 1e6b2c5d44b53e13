// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/delegation-dev/delegation-operator/internal/shard"
)

// ShardFlag makes a manager the shard i of n.
func ShardFlag(i, n int) string { return fmt.Sprintf("--shard=%d/%d", i, n) }

// ShardOf is the shard of n that owns the objects of a name in the namespace.
func (s *Space) ShardOf(name string, n int) int {
	s.t.Helper()
	for i := range n {
		part, err := shard.Parse(fmt.Sprintf("%d/%d", i, n))
		if err != nil {
			s.t.Fatal(err)
		}
		if part.Owns(types.NamespacedName{Namespace: s.Namespace, Name: name}) {
			return i
		}
	}
	s.t.Fatalf("none of %d shards owns %s", n, name)
	return 0
}

// NameIn is a name that the shard i of n owns.
func (s *Space) NameIn(i, n int, prefix string) string {
	s.t.Helper()
	for j := 0; ; j++ {
		if name := fmt.Sprintf("%s-%d", prefix, j); s.ShardOf(name, n) == i {
			return name
		}
	}
}
