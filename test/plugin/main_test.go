// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plugin tests kubectl delegation as a person uses it: through kubectl, against a real API server, with the operator
// and agents as processes.
package plugin

import (
	"flag"
	"os"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/delegation-dev/delegation-operator/internal/testenv"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

var (
	cluster *harness.Cluster
	update  = flag.Bool("update", false, "write docs/screens and the screens of docs/kubectl.md")
)

func TestMain(m *testing.M) {
	os.Exit(testenv.Run(m, func(config *rest.Config) { cluster = harness.NewCluster(config) }))
}
