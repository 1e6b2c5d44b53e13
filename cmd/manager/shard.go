// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"

	"github.com/delegation-dev/delegation-operator/internal/shard"
)

// shardOptions say which part of the objects the manager works on; the zero value is all.
type shardOptions struct {
	shard string
}

func (o *shardOptions) bind(f *flag.FlagSet) {
	f.StringVar(&o.shard, "shard", "", "Part of the objects to work on, such as 0/3, 1/3 and 2/3 for three managers; all when empty. "+
		"Each shard has a lease of its own, and gives an agent its share of what the RemoteAgent allows.")
}

// parse reads the flag. The error names it.
func (o *shardOptions) parse() (shard.Shard, error) {
	s, err := shard.Parse(o.shard)
	if err != nil {
		return s, fmt.Errorf("--shard=%w", err)
	}
	return s, nil
}
