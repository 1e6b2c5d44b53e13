// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/test/harness"
)

// installed are all the kustomizations of config that have pods. The proxy's component is in its example.
var installed = []struct {
	path string
	// needsToken says that the pod talks to the API server.
	needsToken bool
}{
	{"config/default", true},
	{"config/namespaced", true},
	{"test/security/testdata/everything", true},
	{"config/dedup-proxy/deployment", false},
	{"config/dedup-proxy/example", false},
}

// warnings collects what the API server warns of.
type warnings struct {
	mu   sync.Mutex
	list []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, text)
}

// said returns what the API server warned of since it was asked last.
func (w *warnings) said() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.list
	w.list = nil
	return list
}

// objects are those of a kustomization.
func objects(t *testing.T, s *harness.Space, path string) []*unstructured.Unstructured {
	t.Helper()
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(s.Kubectl("kustomize", harness.Root(t)+"/"+path))), 4096)
	var list []*unstructured.Unstructured
	for {
		u := &unstructured.Unstructured{}
		err := decoder.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, u)
	}
}

// restricted is a namespace in which Pod Security refuses pods, and warns of what makes them.
func restricted(t *testing.T) (*harness.Space, client.Client, *warnings) {
	t.Helper()
	s := cluster.Space(t)
	s.Kubectl("label", "namespace", s.Namespace, "pod-security.kubernetes.io/enforce=restricted", "pod-security.kubernetes.io/warn=restricted")
	// Without a controller manager no namespace gets the account that pods without one of their own have.
	for _, name := range []string{"default", "delegation-operator-controller-manager"} {
		s.Create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}})
	}
	w := &warnings{}
	config := rest.CopyConfig(admin)
	config.WarningHandlerWithContext = w
	c, err := client.New(config, client.Options{Scheme: s.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return s, c, w
}

// podOf makes a pod of a Deployment, as its controller does.
func podOf(d *appsv1.Deployment, namespace string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: *d.Spec.Template.ObjectMeta.DeepCopy(), Spec: *d.Spec.Template.Spec.DeepCopy()}
	pod.Namespace, pod.Name = namespace, d.Name
	return pod
}

// Every manifest is taken by an API server that warns of nothing, in a namespace with Pod Security restricted, and so is the
// pod that each Deployment makes.
func TestManifestsAreRestricted(t *testing.T) {
	for _, i := range installed {
		t.Run(i.path, func(t *testing.T) {
			s, c, w := restricted(t)
			pods := 0
			for _, u := range objects(t, s, i.path) {
				namespaced, err := c.IsObjectNamespaced(u)
				if err != nil {
					t.Fatal(err)
				}
				if namespaced {
					u.SetNamespace(s.Namespace)
				}
				if u.GetKind() == "CustomResourceDefinition" {
					continue // installed already, and its name is not free to choose
				}
				u.SetName("case-" + u.GetName())
				if err := c.Create(t.Context(), u.DeepCopy(), client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
					t.Errorf("%s %s: %v", u.GetKind(), u.GetName(), err)
				}
				if u.GetKind() == "Deployment" {
					pods++
					d := &appsv1.Deployment{}
					if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, d); err != nil {
						t.Fatal(err)
					}
					if err := c.Create(t.Context(), podOf(d, s.Namespace), client.DryRunAll); err != nil {
						t.Error(err)
					}
					requireHardened(t, &d.Spec.Template.Spec, i.needsToken)
				}
				for _, text := range w.said() {
					t.Errorf("%s %s: the API server warns: %s", u.GetKind(), u.GetName(), text)
				}
			}
			if pods == 0 {
				t.Error("no Deployment in it")
			}
		})
	}
}

// requireHardened requires what Pod Security does not ask for.
func requireHardened(t *testing.T, spec *corev1.PodSpec, needsToken bool) {
	t.Helper()
	if mounted := spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken; mounted != needsToken {
		t.Errorf("a ServiceAccount's token is mounted: %t; want %t", mounted, needsToken)
	}
	for _, c := range spec.Containers {
		if sc := c.SecurityContext; sc == nil || !ptr.Deref(sc.ReadOnlyRootFilesystem, false) {
			t.Errorf("container %s can write to its root filesystem", c.Name)
		}
		if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
			t.Errorf("container %s lacks requests or the limit of memory", c.Name)
		}
	}
}

// The API server of these tests does refuse and warn: each thing that a manifest could lack is noticed.
func TestPodSecurityIsInForce(t *testing.T) {
	s, c, w := restricted(t)
	d := &appsv1.Deployment{}
	for _, u := range objects(t, s, "config/default") {
		if u.GetKind() == "Deployment" {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, d); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, row := range []struct {
		name  string
		spoil func(*corev1.PodSpec)
		want  string
	}{
		{"root", func(p *corev1.PodSpec) { p.SecurityContext.RunAsNonRoot = nil }, "runAsNonRoot"},
		{"no seccomp profile", func(p *corev1.PodSpec) { p.SecurityContext.SeccompProfile = nil }, "seccompProfile"},
		{"capabilities", func(p *corev1.PodSpec) { p.Containers[0].SecurityContext.Capabilities = nil }, "capabilities"},
		{"privilege escalation", func(p *corev1.PodSpec) { p.Containers[0].SecurityContext.AllowPrivilegeEscalation = nil }, "allowPrivilegeEscalation"},
		{"the host's network", func(p *corev1.PodSpec) { p.HostNetwork = true }, "hostNetwork"},
	} {
		t.Run(row.name, func(t *testing.T) {
			spoilt := d.DeepCopy()
			spoilt.Namespace, spoilt.ResourceVersion = s.Namespace, ""
			row.spoil(&spoilt.Spec.Template.Spec)
			if err := c.Create(t.Context(), podOf(spoilt, s.Namespace), client.DryRunAll); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("a pod with it: %v; want a refusal because of %s", err, row.want)
			}
			w.said()
			if err := c.Create(t.Context(), spoilt, client.DryRunAll); err != nil {
				t.Fatal(err)
			}
			if said := strings.Join(w.said(), "; "); !strings.Contains(said, row.want) {
				t.Errorf("the API server warns of %q; want %s", said, row.want)
			}
		})
	}
}
