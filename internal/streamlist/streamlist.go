// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package streamlist has an informer decode the objects of its first list while the API server still encodes the ones after
// them. client-go reads a list whole before it decodes the first object, and as a stream of events (WatchList) each object
// is encoded and decoded several times over; with very many objects either is most of the time that a controller needs to
// start.
package streamlist

import (
	"context"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
)

// defaultPage is how many objects are asked for at once.
const defaultPage = 10000

// Decode returns an object from its JSON, as the informer is to hold it.
type Decode func([]byte) (runtime.Object, error)

// NewInformer returns an informer of the objects that lw lists, which decode makes of their JSON. The client of lw has a
// configuration that Wrap was called with; where it has not, or the API server does not answer in JSON, the list is read as
// ever.
func NewInformer(lw toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers, decode Decode) toolscache.SharedIndexInformer {
	return toolscache.NewSharedIndexInformer(listWatch(lw, decode, defaultPage), example, resync, indexers)
}

func listWatch(lw toolscache.ListerWatcher, decode Decode, page int64) toolscache.ListerWatcher {
	l := lister{toolscache.ToListerWatcherWithContext(lw), decode, page}
	out := &toolscache.ListWatch{ListWithContextFunc: l.list, WatchFuncWithContext: l.from.WatchWithContext}
	return toolscache.ToListWatcherWithWatchListSemantics(out, l)
}

// Wrap has the clients of a configuration stream the lists that informers of this package ask for.
func Wrap(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return transport{next} })
}

// lister lists by streaming.
type lister struct {
	from   toolscache.ListerWatcherWithContext
	decode Decode
	// page is how many objects are asked for at once.
	page int64
}

// IsWatchListSemanticsUnSupported has client-go's Reflector list.
func (lister) IsWatchListSemanticsUnSupported() bool { return true }

// list returns the objects as they are now, which it reads in pages. client-go's pager takes small ones, or none where it has
// listed before; these are large, since an object is decoded as soon as it is there, and not larger, since the API server copies
// a page before it encodes it. Where the version of the first page is no more, it reads all at once, as client-go does. Older
// versions than the newest are not asked for: the API server has the newest in memory as well.
func (l lister) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.ResourceVersion, options.ResourceVersionMatch = "", ""
	options.Limit, options.Continue = l.page, ""
	out := &metav1.List{}
	for {
		about, objects, err := l.read(ctx, options)
		switch {
		case apierrors.IsResourceExpired(err) && options.Continue != "":
			options.Limit, options.Continue, out.Items = 0, "", nil
			continue
		case err != nil:
			return nil, err
		case options.Continue == "":
			out.ResourceVersion = about.GetResourceVersion()
		}
		out.Items = append(out.Items, objects...)
		if options.Continue = about.GetContinue(); options.Continue == "" {
			return out, nil
		}
	}
}

// read reads one page.
func (l lister) read(ctx context.Context, options metav1.ListOptions) (metav1.ListInterface, []runtime.RawExtension, error) {
	s := &sink{decode: l.decode}
	list, err := l.from.ListWithContext(context.WithValue(ctx, sinkKey{}, s), options)
	if err != nil {
		return nil, nil, err
	}
	about, err := meta.ListAccessor(list)
	if err != nil || s.used {
		return about, s.objects, err
	}
	err = meta.EachListItemWithAlloc(list, func(o runtime.Object) error {
		s.objects = append(s.objects, runtime.RawExtension{Object: o})
		return nil
	})
	return about, s.objects, err
}
