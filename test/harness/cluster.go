// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/testenv"
)

// The manager's ServiceAccount in config/default.
const (
	// OperatorNamespace is where the manager's ServiceAccount may hold leases.
	OperatorNamespace = "delegation-operator-system"
	serviceAccount    = "delegation-operator-controller-manager"
)

// Installation is what tests install: config/default, and all namespaces' credentials.
const Installation = "test/harness/install"

// Nothing is for tests of installations: they install by themselves, and start the manager with StartDeployment.
const Nothing = ""

// Cluster is the API server that the tests of a package share.
type Cluster struct {
	config    *rest.Config
	manifests string
	prepare   sync.Once
	// err is why it can't be used.
	err   error
	admin client.Client
	// token is the manager's. It allows what the manifests grant, so that a permission which is missing there shows.
	token string
}

// NewCluster returns the cluster of an administrator's config, with Installation.
func NewCluster(config *rest.Config) *Cluster { return NewClusterWith(config, Installation) }

// NewClusterWith returns the cluster of an administrator's config. The manifests, a kustomization given from the root of the
// repository, are applied when the first test uses it.
func NewClusterWith(config *rest.Config, manifests string) *Cluster {
	// The library complains of a program that says nothing about its log.
	log.SetLogger(logr.Discard())
	config = rest.CopyConfig(config)
	// Tests look often; a limit in the client would delay what they see.
	config.QPS = -1
	return &Cluster{config: config, manifests: manifests}
}

// install applies the manifests, as a user does, and takes a token of the manager's ServiceAccount. Nothing here runs
// the Deployment.
func (c *Cluster) install(t testing.TB) error {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	var err error
	if c.admin, err = client.New(c.config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	if c.manifests == Nothing {
		return nil
	}
	s := &Space{t: t, Cluster: c, Client: c.admin, Namespace: metav1.NamespaceDefault}
	manifests := filepath.Join(Root(t), filepath.FromSlash(c.manifests))
	// The CRDs are there already, by another's hand.
	if out, err := s.TryKubectl("apply", "--server-side", "--force-conflicts", "-k", manifests); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	c.token, err = c.tokenOf(t, OperatorNamespace, serviceAccount)
	return err
}

// tokenOf requests a token of a ServiceAccount.
func (c *Cluster) tokenOf(t testing.TB, namespace, name string) (string, error) {
	account := &corev1.ServiceAccount{}
	account.Namespace, account.Name = namespace, name
	request := &authenticationv1.TokenRequest{}
	if err := c.admin.SubResource("token").Create(t.Context(), account, request); err != nil {
		return "", fmt.Errorf("token of the ServiceAccount %s/%s: %w", namespace, name, err)
	}
	return request.Status.Token, nil
}

// Space is one test's share of a cluster: a namespace of its own.
type Space struct {
	*Cluster
	// Client may do everything.
	Client client.Client
	// Namespace has a name that no other test has.
	Namespace string
	t         testing.TB
}

// Space makes a namespace for a test. Nothing deletes it: without a namespace controller it would stay half deleted.
func (c *Cluster) Space(t testing.TB) *Space {
	t.Helper()
	c.prepare.Do(func() { c.err = c.install(t) })
	if c.err != nil {
		t.Fatalf("preparing the cluster: %v", c.err)
	}
	ns := &corev1.Namespace{}
	ns.GenerateName = "test-"
	if err := c.admin.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	return &Space{t: t, Cluster: c, Client: c.admin, Namespace: ns.Name}
}

// In returns the space as another test, a subtest, uses it.
func (s *Space) In(t testing.TB) *Space {
	out := *s
	out.t = t
	return &out
}

// Root returns the root of the repository.
func Root(t testing.TB) string {
	t.Helper()
	root, err := testenv.Root()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// Kubectl runs kubectl as an administrator in the namespace and returns what it printed.
func (s *Space) Kubectl(args ...string) string {
	s.t.Helper()
	out, err := s.TryKubectl(args...)
	if err != nil {
		s.t.Fatalf("kubectl %q: %v: %s", args, err, out)
	}
	return out
}

// TryKubectl returns what kubectl printed, its complaints included, and an error where it failed.
func (s *Space) TryKubectl(args ...string) (string, error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(testenv.Assets(s.t), "kubectl"),
		append([]string{"--kubeconfig", s.adminKubeconfig()}, args...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s *Space) adminKubeconfig() string {
	s.t.Helper()
	return s.kubeconfig(s.config.Host, s.config.CAData,
		&clientcmdapi.AuthInfo{ClientCertificateData: s.config.CertData, ClientKeyData: s.config.KeyData})
}

// kubeconfig writes a kubeconfig and returns its path.
func (s *Space) kubeconfig(server string, ca []byte, user *clientcmdapi.AuthInfo) string {
	s.t.Helper()
	const name = "test"
	config := clientcmdapi.NewConfig()
	config.CurrentContext = name
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: s.Namespace}
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos[name] = user
	path := filepath.Join(s.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		s.t.Fatal(err)
	}
	return path
}
