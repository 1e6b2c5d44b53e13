// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/delegation-dev/delegation-operator/controllers"
	"github.com/delegation-dev/delegation-operator/internal/follow"
	"github.com/delegation-dev/delegation-operator/internal/metrics"
	"github.com/delegation-dev/delegation-operator/internal/push"
	"github.com/delegation-dev/delegation-operator/internal/seen"
	"github.com/delegation-dev/delegation-operator/internal/shard"
)

const (
	// keyTimeout bounds the reading of the push key.
	keyTimeout = 30 * time.Second
	// podNamespaceFile holds the namespace of the pod that the process runs in.
	podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

// pushOptions say how push notifications come in; the zero value takes none.
type pushOptions struct {
	address      string
	url          string
	certDir      string
	keyFile      string
	keyNamespace string
}

func (o *pushOptions) bind(f *flag.FlagSet) {
	f.StringVar(&o.address, "push-bind-address", "0", "Address to take agents' push notifications at, such as :8444; 0 for none. Every replica takes them.")
	f.StringVar(&o.url, "push-url", "", "Base URL by which agents reach --push-bind-address, such as https://push.example.com/a2a.")
	f.StringVar(&o.certDir, "push-cert-dir", "", "Directory with tls.crt and tls.key for --push-bind-address, read again when they change; plain HTTP when empty, for where TLS ends before it.")
	f.StringVar(&o.keyFile, "push-key-file", "", "File with the key of the push tokens, 32 bytes or more, the same for all replicas; "+
		"when empty, the Secret "+controllers.PushKeySecret+", which is made where it is missing.")
	f.StringVar(&o.keyNamespace, "push-key-namespace", "", "Namespace of that Secret; --leader-election-namespace when empty, or else the manager's own, which needs a pod.")
}

// keyNamespaceOr is the namespace of the Secret, empty for the pod's.
func (o *pushOptions) keyNamespaceOr(fallback string) string {
	if o.keyNamespace != "" {
		return o.keyNamespace
	}
	return fallback
}

func (o *pushOptions) on() bool { return o.address != "" && o.address != "0" }

// pushing is what takes pushes, ready to be started; nil takes none.
type pushing struct {
	pushOptions
	tokens *push.Tokens
	offers *push.Offer
}

// prepare checks the flags and reads the key.
func (o *pushOptions) prepare(cfg *rest.Config, namespace string) (*pushing, error) {
	switch {
	case !o.on() && o.url != "":
		return nil, errors.New("--push-url is set and nothing listens: set --push-bind-address too, such as :8444")
	case !o.on():
		return nil, nil
	case o.url == "":
		return nil, errors.New("--push-bind-address is set and agents are told no URL: set --push-url too, such as https://push.example.com/a2a")
	}
	key, err := o.key(cfg, namespace)
	if err != nil {
		return nil, err
	}
	p := &pushing{pushOptions: *o}
	if p.tokens, err = push.NewTokens(key); err != nil {
		return nil, fmt.Errorf("--push-key-file %s: %w", o.keyFile, err)
	}
	if p.offers, err = push.NewOffer(o.url, p.tokens); err != nil {
		return nil, fmt.Errorf("--push-url: %w", err)
	}
	return p, nil
}

func (o *pushOptions) key(cfg *rest.Config, namespace string) ([]byte, error) {
	if o.keyFile != "" {
		key, err := os.ReadFile(o.keyFile)
		if err != nil {
			return nil, fmt.Errorf("--push-key-file: %w", err)
		}
		return key, nil
	}
	if namespace == "" {
		own, err := os.ReadFile(podNamespaceFile)
		if err != nil {
			return nil, errors.New("the namespace of the Secret with the push key is not known outside a pod: set --push-key-namespace, or give the key with --push-key-file")
		}
		namespace = strings.TrimSpace(string(own))
	}
	c, err := client.New(cfg, client.Options{Scheme: scheme()})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), keyTimeout)
	defer cancel()
	return controllers.PushKey(ctx, c, namespace)
}

// offer is what agents are told; nil where nothing takes their pushes.
func (p *pushing) offer() *push.Offer {
	if p == nil {
		return nil
	}
	return p.offers
}

// serve adds the receiver to the manager.
func (p *pushing) serve(mgr manager.Manager, follower *follow.Follower, part shard.Shard) error {
	if p == nil {
		return nil
	}
	store, err := seen.NewMemory(push.SeenEntries, push.SeenAge, time.Now)
	if err != nil {
		return err
	}
	pushes := &controllers.Pushes{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Follower: follower, Elected: mgr.Elected(), Shard: part,
		Relays: push.NewLimits(push.RelayPerDelegation, push.RelayInAll, time.Now),
	}
	limits := push.NewLimits(push.PerDelegation, push.InAll, time.Now)
	count := func(r push.Result) { metrics.Push(string(r)) }
	return mgr.Add(&push.Server{
		Address: p.address, CertDir: p.certDir, Log: ctrl.Log.WithName("push"),
		Handler: push.NewReceiver(p.tokens, limits, store, pushes.Trigger, count),
	})
}
