// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the operator as it runs in production: the manager and the agents are processes, the API server and
// etcd are real ones, and what is claimed is held against what the agent counted.
package e2e

import (
	"flag"
	"os"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/delegation-dev/delegation-operator/internal/testenv"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

var cluster *harness.Cluster

func TestMain(m *testing.M) {
	flag.Parse()
	waitTogether()
	os.Exit(testenv.Run(m, func(config *rest.Config) { cluster = harness.NewCluster(config) }))
}

// waitTogether lets more tests run at once than there are CPUs, unless the command line says how many: they mostly wait.
func waitTogether() {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "8") // the flag exists and takes a number
	}
}
