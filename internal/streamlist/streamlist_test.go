// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package streamlist

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/json"

	"github.com/delegation-dev/delegation-operator/internal/testenv"
)

var config *rest.Config

func TestMain(m *testing.M) { os.Exit(testenv.Run(m, func(c *rest.Config) { config = c })) }

// patience is long against what a busy machine needs.
const patience = time.Minute

// view is an informer of the ConfigMaps of a namespace.
type view struct {
	informer toolscache.SharedIndexInformer
	// decoded is how many objects of a list came by streaming.
	decoded atomic.Int32
}

// watch starts an informer that lists in pages, and whose client has gone through prepare.
func watch(t *testing.T, namespace string, page int64, prepare func(*rest.Config)) *view {
	t.Helper()
	c := rest.CopyConfig(config)
	prepare(c)
	lw := toolscache.NewListWatchFromClient(kubernetes.NewForConfigOrDie(c).CoreV1().RESTClient(), "configmaps", namespace, fields.Everything())
	v := &view{}
	decode := func(text []byte) (runtime.Object, error) {
		v.decoded.Add(1)
		o := &corev1.ConfigMap{}
		return o, json.UnmarshalCaseSensitivePreserveInts(text, o)
	}
	v.informer = toolscache.NewSharedIndexInformer(listWatch(lw, decode, page), &corev1.ConfigMap{}, 0, toolscache.Indexers{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		v.informer.RunWithContext(ctx)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return v
}

// await waits until the informer holds exactly these objects.
func (v *view) await(t *testing.T, want ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if !toolscache.WaitForCacheSync(ctx.Done(), v.informer.HasSynced) {
		t.Fatal("the informer did not come to hold a list")
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		got := []string{}
		for _, o := range v.informer.GetStore().List() {
			got = append(got, o.(*corev1.ConfigMap).Data["is"])
		}
		slices.Sort(got)
		if slices.Equal(got, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("it holds %q; want %q", got, want)
		}
	}
}

// at does something else with the n-th list that is asked for.
func at(n int32, do func(http.RoundTripper, *http.Request) (*http.Response, error)) func(*rest.Config) {
	asked := atomic.Int32{}
	return func(c *rest.Config) {
		c.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.URL.Query().Get("watch") == "" && asked.Add(1) == n {
					return do(next, r)
				}
				return next.RoundTrip(r)
			})
		})
		Wrap(c)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// cutOff is a connection that breaks in the middle of a list.
func cutOff(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	response, err := next.RoundTrip(r)
	if err == nil {
		text, readErr := io.ReadAll(response.Body)
		response.Body = io.NopCloser(io.MultiReader(strings.NewReader(string(text[:len(text)*2/3])), iotest.ErrReader(errors.Join(io.ErrUnexpectedEOF, readErr))))
	}
	return response, err
}

// expired is what the API server says of a page whose version it has no more.
func expired(_ http.RoundTripper, r *http.Request) (*http.Response, error) {
	text, err := stdjson.Marshal(apierrors.NewResourceExpired("too old").Status())
	return &http.Response{StatusCode: http.StatusGone, Request: r, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(text))}, err
}

func unavailable(_ http.RoundTripper, r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusServiceUnavailable, Request: r, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

func TestInformer(t *testing.T) {
	t.Parallel()
	const page = 40
	protobuf := func(c *rest.Config) { Wrap(c); c.ContentType = runtime.ContentTypeProtobuf }
	for _, c := range []struct {
		name     string
		page     int64
		prepare  func(*rest.Config)
		streamed bool
	}{
		{"a list", defaultPage, Wrap, true},
		{"pages", page, Wrap, true},
		{"a list that breaks off", defaultPage, at(1, cutOff), true},
		{"a second page that breaks off", page, at(2, cutOff), true},
		{"pages that become too old", page, at(2, expired), true},
		{"an API server that is away at first", defaultPage, at(1, unavailable), true},
		{"a client that was not prepared", page, func(*rest.Config) {}, false},
		{"an answer that is not JSON", page, protobuf, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client := kubernetes.NewForConfigOrDie(config).CoreV1()
			ns, err := client.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			maps, want := client.ConfigMaps(ns.Name), []string{}
			create := func(name string) {
				t.Helper()
				if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"is": name}}, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				want = append(want, name)
			}
			for i := range 70 {
				create(fmt.Sprintf("early-%02d", i))
			}
			v := watch(t, ns.Name, c.page, c.prepare)
			v.await(t, want...)
			if got := v.decoded.Load(); (got >= 70) != c.streamed || (got == 0) == c.streamed {
				t.Errorf("%d objects came by streaming; want all: %v", got, c.streamed)
			}
			create("late")
			v.await(t, want...)
			if err := maps.Delete(t.Context(), "early-07", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			v.await(t, slices.Delete(want, 7, 8)...)
		})
	}
}

// A list that is not the first is read in pages too, whatever version and limit client-go asks for.
func TestPagesOfALaterList(t *testing.T) {
	t.Parallel()
	var asked []metav1.ListOptions
	lw := &toolscache.ListWatch{ListWithContextFunc: func(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
		asked = append(asked, options)
		page := &corev1.ConfigMapList{Items: make([]corev1.ConfigMap, 2)}
		page.ResourceVersion = "7"
		if options.Continue == "" {
			page.Continue = "more"
		}
		return page, nil
	}}
	list, err := toolscache.ToListerWatcherWithContext(listWatch(lw, nil, 2)).ListWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "5"})
	if err != nil {
		t.Fatal(err)
	}
	if got := list.(*metav1.List); len(got.Items) != 4 || got.ResourceVersion != "7" || got.Continue != "" {
		t.Errorf("got %d objects at version %q, continue %q", len(got.Items), got.ResourceVersion, got.Continue)
	}
	if want := []metav1.ListOptions{{Limit: 2}, {Limit: 2, Continue: "more"}}; !cmp.Equal(asked, want) {
		t.Errorf("asked for %+v; want %+v", asked, want)
	}
}
