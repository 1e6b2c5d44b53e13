// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	appsv1 "k8s.io/api/apps/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/internal/testenv"
)

// StartDeployment runs the operator as one pod of a Deployment that is installed: with the flags that it has there, and the
// rights of its ServiceAccount. No kubelet runs, so that what a pod finds in itself comes from flags: the cluster, and the
// namespace. Its ports are the machine's, and taken by who is first, so that flags come last that choose others.
func (s *Space) StartDeployment(namespace, name string, flags ...string) *Process {
	s.t.Helper()
	d := &appsv1.Deployment{}
	if err := s.Client.Get(s.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, d); err != nil {
		s.t.Fatal(err)
	}
	pod := d.Spec.Template.Spec
	c := pod.Containers[0]
	if len(pod.Containers) != 1 || len(c.Command) != 1 || c.Command[0] != "/manager" || len(c.Env) > 0 || len(c.VolumeMounts) > 0 {
		s.t.Fatalf("a process is not the same as this pod: %v", pod)
	}
	token, err := s.tokenOf(s.t, namespace, pod.ServiceAccountName)
	if err != nil {
		s.t.Fatal(err)
	}
	args := append([]string{}, c.Args...)
	args = append(args,
		"--kubeconfig", s.kubeconfig(s.config.Host, s.config.CAData, &clientcmdapi.AuthInfo{Token: token}),
		"--leader-election-namespace", namespace,
		"--health-probe-bind-address", FreeAddress(s.t))
	return StartProcess(s.t, testenv.Binary(s.t, "manager"), append(args, flags...)...)
}
