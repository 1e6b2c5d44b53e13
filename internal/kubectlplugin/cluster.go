// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kubectlplugin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// fieldManager is who wrote what this command writes. An Unknown that is resolved has it on record.
const fieldManager = "kubectl-delegation"

// cluster is the API server as the user's kubeconfig and flags lead to it.
type cluster struct {
	client.WithWatch
	namespace string
	// named says that the command line names the namespace.
	named bool
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	return s
}

// mapper knows the few kinds that are used, so that nothing has to be discovered first.
func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{v1alpha1.GroupVersion, corev1.SchemeGroupVersion, authenticationv1.SchemeGroupVersion})
	for _, kind := range []string{"Delegation", "RemoteAgent"} {
		m.Add(v1alpha1.GroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	for _, kind := range []string{"ConfigMap", "Secret", "ServiceAccount"} {
		m.Add(corev1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	m.Add(authenticationv1.SchemeGroupVersion.WithKind("TokenReview"), meta.RESTScopeRoot)
	return m
}

// connect makes the client. No request is made yet.
func (p *plugin) connect() (*cluster, error) {
	namespace, named, err := p.namespace()
	if err != nil {
		return nil, explain(err)
	}
	config, err := p.flags.ToRESTConfig()
	if err != nil {
		return nil, explain(err)
	}
	config.UserAgent = fieldManager
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme(), Mapper: mapper(), FieldOwner: fieldManager, FieldValidation: "Strict"})
	if err != nil {
		return nil, explain(err)
	}
	return &cluster{WithWatch: c, namespace: namespace, named: named}, nil
}

func (p *plugin) namespace() (name string, named bool, err error) {
	return p.flags.ToRawKubeConfigLoader().Namespace()
}

func (c *cluster) delegation(ctx context.Context, name string) (*v1alpha1.Delegation, error) {
	d := &v1alpha1.Delegation{}
	return d, explain(c.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, d))
}

// named are the objects that arguments such as delegation/NAME, dlg/NAME or NAME name.
func named(args []string) []string {
	var names []string
	for _, arg := range args {
		for _, kind := range []string{"delegations/", "delegation/", "dlg/", "delegation.a2a.delegation.dev/", "delegations.a2a.delegation.dev/",
			"remoteagents/", "remoteagent/", "ra/", "remoteagent.a2a.delegation.dev/", "remoteagents.a2a.delegation.dev/"} {
			arg = strings.TrimPrefix(arg, kind)
		}
		names = append(names, arg)
	}
	return names
}

// explain adds to an error what to do about it, where the API server does not say so itself.
func explain(err error) error {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return nil
	case clientcmd.IsEmptyConfig(err):
		return fmt.Errorf("%w: name a kubeconfig by --kubeconfig or KUBECONFIG", err)
	case !errors.As(err, &status):
		return err
	}
	details := status.Status().Details
	switch {
	case apierrors.IsNotFound(err) && (details == nil || details.Name == ""):
		return fmt.Errorf("the cluster has no %s kind (%w): install the operator with kubectl apply --server-side -f dist/install.yaml", v1alpha1.GroupVersion.Group, err)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%w: kubectl get %s shows what there is; -n NAMESPACE looks elsewhere", err, details.Kind)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w: ask for a role that grants it", err)
	case apierrors.IsConflict(err):
		return fmt.Errorf("%w: it changed meanwhile; look at it, and give the command again", err)
	}
	return err
}
