// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package faults breaks everything around the operator, on purpose and everywhere: its own process at each call that
// changes something, the API server's answers, its view of the world, its agents. Managers, agents and the API server are
// real processes.
package faults

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/delegation-dev/delegation-operator/internal/testenv"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

var (
	cluster *harness.Cluster
	config  *rest.Config

	full   = flag.Bool("full", false, "run all plans and not a part of them")
	update = flag.Bool("update", false, "write the golden files anew")
)

func TestMain(m *testing.M) {
	flag.Parse()
	// The runs wait much more than they compute.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	code := testenv.Run(m, func(c *rest.Config) { cluster, config = harness.NewCluster(c), c })
	fmt.Print(results.table())
	os.Exit(code)
}
