// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/delegation-dev/delegation-operator/internal/testenv"
)

// StartManager runs the operator for the namespace, with its own ServiceAccount's permissions.
func (s *Space) StartManager(flags ...string) *Process {
	s.t.Helper()
	return s.startManager(s.config.Host, s.config.CAData, flags)
}

// StartManagerBehind runs the operator so that all that it says to the API server passes through a proxy.
func (s *Space) StartManagerBehind(p *APIProxy, flags ...string) *Process {
	s.t.Helper()
	return s.startManager(p.url, p.ca, flags)
}

// StartManagerAt runs one that reaches the cluster through another API server of it.
func (s *Space) StartManagerAt(server string, flags ...string) *Process {
	s.t.Helper()
	return s.startManager(server, s.config.CAData, flags)
}

func (s *Space) startManager(server string, ca []byte, flags []string) *Process {
	s.t.Helper()
	kubeconfig := s.kubeconfig(server, ca, &clientcmdapi.AuthInfo{Token: s.token})
	args := append([]string{
		"--kubeconfig", kubeconfig,
		"--namespaces", s.Namespace,
		"--health-probe-bind-address", "0",
		"--egress-allow=127.0.0.0/8",
	}, flags...)
	return StartProcess(s.t, testenv.Binary(s.t, "manager"), args...)
}
