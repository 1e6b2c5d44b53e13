// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"os"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

var config *rest.Config

func TestMain(m *testing.M) { os.Exit(Run(m, func(c *rest.Config) { config = c })) }

func TestTheCRDsAreInstalled(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.List(t.Context(), &v1alpha1.DelegationList{}); err != nil {
		t.Error(err)
	}
	if err := c.List(t.Context(), &v1alpha1.RemoteAgentList{}); err != nil {
		t.Error(err)
	}
	invalid := &v1alpha1.RemoteAgent{}
	invalid.Name, invalid.Namespace = "no-url", "default"
	if err := c.Create(t.Context(), invalid); !apierrors.IsInvalid(err) {
		t.Errorf("creating a RemoteAgent without a URL = %v; want Invalid from the CRD's rule", err)
	}
}

func TestMissingBinariesAreNamed(t *testing.T) {
	t.Setenv(assetsEnv, t.TempDir())
	if _, err := findAssets(); err == nil {
		t.Error("an empty directory passed for one with binaries")
	}
}
