// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// NewClient returns a client for all that a bench makes and watches. Neither it nor others of the configuration are limited.
func NewClient(config *rest.Config) (client.WithWatch, error) {
	// The library complains of a program that says nothing about its log.
	log.SetLogger(logr.Discard())
	config.QPS = -1
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	return client.NewWithWatch(config, client.Options{Scheme: scheme})
}

// Each does something for the numbers from one on to before another, several at once, until one fails.
func Each(ctx context.Context, writers, from, to int, do func(context.Context, int) error) error {
	all, working := errgroup.WithContext(ctx)
	all.SetLimit(writers)
	for i := from; i < to && working.Err() == nil; i++ {
		all.Go(func() error { return do(working, i) })
	}
	return errors.Join(all.Wait(), context.Cause(ctx))
}
