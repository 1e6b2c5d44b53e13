// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import "fmt"

// The three processes, in the order they are started.
const (
	etcdName              = "etcd"
	apiServerName         = "kube-apiserver"
	controllerManagerName = "kube-controller-manager"
)

var componentNames = []string{etcdName, apiServerName, controllerManagerName}

type component struct {
	name string
	path string
	args []string
}

// required returns the names of the components that Assets can run.
// Binaries meant for envtest come without a controller manager.
func (o Options) required() ([]string, error) {
	var names []string
	for _, name := range componentNames {
		path, found := o.binary(name)
		switch {
		case found:
			names = append(names, name)
		case name != controllerManagerName:
			return nil, fmt.Errorf("%s is missing: run `make localcluster`, or set KUBEBUILDER_ASSETS to a directory that has it", path)
		}
	}
	return names, nil
}

func (o Options) component(name string, p ports) component {
	path, _ := o.binary(name)
	var args []string
	switch name {
	case etcdName:
		args = o.etcdArgs(p)
	case apiServerName:
		args = o.apiServerArgs(p)
	case controllerManagerName:
		args = o.controllerManagerArgs()
	}
	return component{name: name, path: path, args: args}
}

func (o Options) etcdArgs(p ports) []string {
	args := []string{
		"--name=local",
		"--data-dir=" + o.file("etcd"),
		"--listen-client-urls=" + p.etcdURL(),
		"--advertise-client-urls=" + p.etcdURL(),
		"--listen-peer-urls=" + p.etcdPeerURL(),
		"--initial-advertise-peer-urls=" + p.etcdPeerURL(),
		"--initial-cluster=local=" + p.etcdPeerURL(),
		"--cert-file=" + o.pki(etcdServing+".crt"),
		"--key-file=" + o.pki(etcdServing+".key"),
		"--client-cert-auth",
		"--trusted-ca-file=" + o.pki(etcdCA+".crt"),
		"--peer-cert-file=" + o.pki(etcdServing+".crt"),
		"--peer-key-file=" + o.pki(etcdServing+".key"),
		"--peer-client-cert-auth",
		"--peer-trusted-ca-file=" + o.pki(etcdCA+".crt"),
	}
	if o.UnsafeNoFsync {
		args = append(args, "--unsafe-no-fsync")
	}
	return args
}

func (o Options) apiServerArgs(p ports) []string {
	return []string{
		"--bind-address=" + loopback,
		"--advertise-address=" + loopback,
		fmt.Sprintf("--secure-port=%d", p.APIServer),
		// A loopback address is no valid Endpoints entry, and nothing here routes to one.
		"--endpoint-reconciler-type=none",
		"--tls-cert-file=" + o.pki(apiserverServing+".crt"),
		"--tls-private-key-file=" + o.pki(apiserverServing+".key"),
		"--client-ca-file=" + o.pki(clusterCA+".crt"),
		"--authorization-mode=RBAC",
		"--etcd-servers=" + p.etcdURL(),
		"--etcd-cafile=" + o.pki(etcdCA+".crt"),
		"--etcd-certfile=" + o.pki(apiserverEtcdClient+".crt"),
		"--etcd-keyfile=" + o.pki(apiserverEtcdClient+".key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + o.pki(serviceAccountSigning+".key"),
		"--service-account-signing-key-file=" + o.pki(serviceAccountSigning+".key"),
		"--service-cluster-ip-range=10.0.0.0/24",
		"--allow-privileged=true",
	}
}

func (o Options) controllerManagerArgs() []string {
	return []string{
		"--kubeconfig=" + o.controllerManagerKubeconfig(),
		// Each controller acts as its own ServiceAccount: RBAC's built-in roles
		// are written for those, and the manager's own identity may delete little.
		"--use-service-account-credentials=true",
		"--service-account-private-key-file=" + o.pki(serviceAccountSigning+".key"),
		"--root-ca-file=" + o.pki(clusterCA+".crt"),
		// One instance, which serves nothing itself.
		"--leader-elect=false",
		"--secure-port=0",
	}
}

func (o Options) controllerManagerKubeconfig() string {
	return o.pki(controllerManager + ".kubeconfig")
}
