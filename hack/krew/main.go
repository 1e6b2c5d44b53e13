// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command krew builds the archives of the kubectl plugin for all platforms of config/krew/delegation.yaml, and the krew manifest
// with their digests, into dist/krew.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/delegation-dev/delegation-operator/hack/krew/release"
)

func main() {
	version := flag.String("version", "v0.0.0", "version, as the tag of the release has it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := release.Build(ctx, ".", "dist/krew", *version); err != nil {
		fmt.Fprintln(os.Stderr, "krew:", err)
		os.Exit(1)
	}
}
