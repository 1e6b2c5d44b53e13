// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// Each object on the guide's pages is either one that the API server takes, or word for word one of config/gitops.
func TestTheGuideIsTrue(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	var shipped []*unstructured.Unstructured
	for _, name := range []string{"argocd/argocd-cm.yaml", "argocd/application.yaml", "flux/kustomizations.yaml"} {
		shipped = append(shipped, documents(t, readFile(t, "config/gitops/"+name))...)
	}
	seen := map[string]int{}
	for _, page := range []string{"docs/gitops.md", "docs/operations.md"} {
		for _, block := range blocks(readFile(t, page), "yaml") {
			for _, o := range documents(t, block) {
				seen[o.GetKind()]++
				if o.GroupVersionKind().GroupVersion() == v1alpha1.GroupVersion {
					o.SetNamespace(s.Namespace)
					owner := client.FieldOwner("docs")
					if err := s.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), owner, client.DryRunAll); err != nil {
						t.Errorf("%s: %s %s: %v", page, o.GetKind(), o.GetName(), err)
					}
				} else if !contains(shipped, o) {
					t.Errorf("%s: %s %s is not in config/gitops", page, o.GetKind(), o.GetName())
				}
			}
		}
	}
	for kind, n := range map[string]int{"Delegation": 2, "RemoteAgent": 1, "Application": 1, "Kustomization": 2} {
		if seen[kind] < n {
			t.Errorf("%d objects of kind %s in the guide; want %d", seen[kind], kind, n)
		}
	}
}

func contains(list []*unstructured.Unstructured, o *unstructured.Unstructured) bool {
	for _, other := range list {
		if reflect.DeepEqual(other.Object, o.Object) {
			return true
		}
	}
	return false
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(harness.Root(t), filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocks are the code blocks of a page in a language.
func blocks(page, language string) []string {
	var out []string
	for _, rest := range strings.Split(page, "```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(rest, "```")
		out = append(out, block)
	}
	return out
}

// documents are the objects of a YAML text.
func documents(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(text)), 4096)
	for {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(&o.Object); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		out = append(out, o)
	}
}
