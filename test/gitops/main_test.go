// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gitops tests what people expect who keep Delegations in Git: that applying changes nothing that is as it should
// be, that a cluster rebuilt from Git or from a backup finds its tasks again, and that Argo CD and Flux read their state as
// it is. The manager and the agents are processes; what is claimed is held against what the agent counted.
package gitops

import (
	"flag"
	"os"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/delegation-dev/delegation-operator/internal/testenv"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

var cluster *harness.Cluster

var update = flag.Bool("update", false, "write testdata/states from what the test sees")

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
