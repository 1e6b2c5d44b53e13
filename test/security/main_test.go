// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package security tests what the manifests of config grant and demand, on a real API server: the manager's rights, people's
// rights, what Pod Security says of the pods, and who may read the metrics.
package security

import (
	"os"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/internal/testenv"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

var (
	cluster *harness.Cluster
	// admin may do everything.
	admin *rest.Config
)

func TestMain(m *testing.M) {
	os.Exit(testenv.Run(m, func(config *rest.Config) {
		admin, cluster = config, harness.NewClusterWith(config, "config/default")
	}))
}

// as returns a client with the rights of a user, and of the groups that every user of its kind is in.
func as(t *testing.T, s *harness.Space, user string) client.Client {
	t.Helper()
	c, err := client.New(asConfig(user), client.Options{Scheme: s.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func asConfig(user string) *rest.Config {
	config := rest.CopyConfig(admin)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	if account, ok := strings.CutPrefix(user, "system:serviceaccount:"); ok {
		namespace, _, _ := strings.Cut(account, ":")
		config.Impersonate.Groups = append(config.Impersonate.Groups, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
	}
	return config
}

// install applies a kustomization of config under names of its own, so that several can be in one cluster.
func install(t *testing.T, s *harness.Space, path, prefix string) {
	t.Helper()
	text := strings.ReplaceAll(s.Kubectl("kustomize", harness.Root(t)+"/"+path), "delegation-operator-", prefix+"-operator-")
	file := t.TempDir() + "/manifests.yaml"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Kubectl("apply", "--server-side", "--force-conflicts", "-f", file)
}
