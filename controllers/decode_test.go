// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	stdjson "encoding/json"
	"math/rand"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/json"
	"sigs.k8s.io/randfill"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// A Delegation that comes in a list is what one that comes by a watch would be, which client-go decodes.
func TestDecodedAsClientGoDoes(t *testing.T) {
	t.Parallel()
	own := func(serializer.CodecFactory) []any {
		return []any{
			func(j *apiextensionsv1.JSON, _ randfill.Continue) {
				j.Raw = []byte(`{"cents":9007199254740993,"tags":[null,"ü",1e3]}`)
			},
			func(f *metav1.FieldsV1, _ randfill.Continue) { f.SetRawString(`{"f:spec":{"f:cancel":{}}}`) },
		}
	}
	fill := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, own), rand.NewSource(1), serializer.NewCodecFactory(runtime.NewScheme()))
	for range 500 {
		d := done()
		fill.Fill(&d.ObjectMeta)
		fill.Fill(&d.Spec)
		fill.Fill(&d.Status)
		text, err := stdjson.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		whole := &v1alpha1.Delegation{}
		if err := json.UnmarshalCaseSensitivePreserveInts(text, whole); err != nil {
			t.Fatal(err)
		}
		got, err := decodeDelegation(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(trimmed(t, whole), got.(*v1alpha1.Delegation)); diff != "" {
			t.Fatalf("-client-go +here:\n%s\n%s", diff, text)
		}
	}
}

// What client-go reads does not keep the list from being read.
func TestDecodedLeniently(t *testing.T) {
	t.Parallel()
	text := []byte(`{"metadata":{"name":"a` + "\xff" + `","name":"b"},"spec":{"messageId":"m","unknown":{"x":1,"x":2}}}`)
	got, err := decodeDelegation(text)
	if err != nil {
		t.Fatal(err)
	}
	if d := got.(*v1alpha1.Delegation); d.Name != "b" || d.Spec.MessageID != "m" {
		t.Errorf("read %+v", d)
	}
}
