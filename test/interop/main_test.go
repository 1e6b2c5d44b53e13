// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

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
	// The flows wait much more than they compute.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	os.Exit(testenv.Run(m, func(config *rest.Config) { cluster = harness.NewCluster(config) }))
}
