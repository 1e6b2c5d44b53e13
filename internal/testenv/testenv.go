// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testenv gives tests a real API server with this project's CRDs, and
// finds the binaries that tests run.
//
// An environment takes about three seconds to start, so a package starts one,
// in TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(testenv.Run(m, func(c *rest.Config) { config = c })) }
package testenv

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const (
	assetsEnv = "KUBEBUILDER_ASSETS"
	// exitWithParentEnv makes the servers built by make localcluster end when
	// the test binary does, also when it panics, times out or is killed.
	exitWithParentEnv = "LOCALCLUSTER_EXIT_WITH_PARENT"

	startTimeout  = time.Minute
	startAttempts = 2
)

// Run starts an environment, hands its config to setup, runs the tests and
// stops the environment. It returns the exit code.
func Run(m *testing.M, setup func(*rest.Config)) int {
	config, stop, err := Start()
	if err != nil {
		fmt.Fprintf(os.Stderr, "starting the test control plane: %v\n", err)
		return 1
	}
	setup(config)
	code := m.Run()
	if err := stop(); err != nil {
		fmt.Fprintf(os.Stderr, "stopping the test control plane: %v\n", err)
		return max(code, 1)
	}
	return code
}

// Start starts etcd and kube-apiserver with the CRDs of config/crd/bases. The
// config is that of an administrator. No controllers run: nothing is garbage
// collected and no namespace ever goes away.
func Start() (config *rest.Config, stop func() error, err error) {
	environment, err := start(func(*envtest.Environment) {})
	if err != nil {
		return nil, nil, err
	}
	return environment.Config, environment.Stop, nil
}

// StartDurable is StartWithEtcd with an etcd that syncs each write to disk, as in a cluster. Flags are the API server's, as
// name=value.
func StartDurable(flags ...string) (config *rest.Config, etcd *url.URL, stop func() error, err error) {
	return startWithEtcd(func(plane *envtest.ControlPlane) {
		plane.Etcd.Configure().Disable("unsafe-no-fsync")
		for _, flag := range flags {
			name, value, _ := strings.Cut(flag, "=")
			plane.GetAPIServer().Configure().Set(name, value)
		}
	})
}

// StartWithEtcd is Start; it also returns etcd's URL, for what fills it past the API server.
func StartWithEtcd() (config *rest.Config, etcd *url.URL, stop func() error, err error) {
	return startWithEtcd(func(*envtest.ControlPlane) {})
}

func startWithEtcd(configure func(*envtest.ControlPlane)) (config *rest.Config, etcd *url.URL, stop func() error, err error) {
	environment, err := start(func(e *envtest.Environment) {
		e.ControlPlane.Etcd = &envtest.Etcd{}
		configure(&e.ControlPlane)
	})
	if err != nil {
		return nil, nil, nil, err
	}
	return environment.Config, environment.ControlPlane.Etcd.URL, environment.Stop, nil
}

func start(configure func(*envtest.Environment)) (*envtest.Environment, error) {
	assets, err := findAssets()
	if err != nil {
		return nil, err
	}
	root, err := Root()
	if err != nil {
		return nil, err
	}
	if err := os.Setenv(exitWithParentEnv, "1"); err != nil {
		return nil, err
	}
	for range startAttempts {
		environment := &envtest.Environment{
			BinaryAssetsDirectory:    assets,
			CRDDirectoryPaths:        []string{filepath.Join(root, "config", "crd", "bases")},
			ErrorIfCRDPathMissing:    true,
			ControlPlaneStartTimeout: startTimeout,
			ControlPlaneStopTimeout:  startTimeout,
		}
		configure(environment)
		// envtest allows five seconds for the default namespace, which a busy
		// machine can miss once; a second try costs nothing when the first works.
		var startErr error
		if _, startErr = environment.Start(); startErr == nil {
			return environment, nil
		}
		err = errors.Join(startErr, environment.Stop())
	}
	return nil, err
}

// Assets returns the directory that holds etcd, kube-apiserver and kubectl.
func Assets(t testing.TB) string {
	t.Helper()
	assets, err := findAssets()
	if err != nil {
		t.Fatal(err)
	}
	return assets
}

// Binary returns the path of one of this project's programs.
func Binary(t testing.TB, name string) string {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "bin", name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run `make build`", err)
	}
	return path
}

// Root returns the root of the repository.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	// Tests run in their package's directory, which lies inside the module.
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the working directory")
		}
		dir = parent
	}
}

func findAssets() (string, error) {
	assets := os.Getenv(assetsEnv)
	if assets == "" {
		root, err := Root()
		if err != nil {
			return "", err
		}
		assets = filepath.Join(root, "bin", "k8s")
	}
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if _, err := os.Stat(filepath.Join(assets, name)); err != nil {
			return "", fmt.Errorf("%w: run `make localcluster`, or set %s to a directory that has etcd and kube-apiserver", err, assetsEnv)
		}
	}
	return assets, nil
}
