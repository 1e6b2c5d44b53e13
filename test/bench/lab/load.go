// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// AgentName is the RemoteAgent that a Load's Delegations go to.
const AgentName = "agent"

// Load makes Delegations in a namespace.
type Load struct {
	Client    client.Client
	Namespace string
	// Text is the message's.
	Text string
	// TTL is how long a finished one is kept, in whole seconds; zero for ever.
	TTL time.Duration
}

// NewLoad makes the namespace. Text is bytes long.
func NewLoad(ctx context.Context, config *rest.Config, namespace string, bytes int, ttl time.Duration) (*Load, error) {
	c, err := NewClient(config)
	if err != nil {
		return nil, err
	}
	l := &Load{Client: c, Namespace: namespace, Text: strings.Repeat("x", bytes), TTL: ttl}
	return l, c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
}

// Agent makes the RemoteAgent of an instant agent, which allows as much as there can be.
func (l *Load) Agent(ctx context.Context, url string) error {
	ra := &v1alpha1.RemoteAgent{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: AgentName}}
	ra.Spec.Interfaces = []v1alpha1.AgentInterface{{URL: url + RPCPath}}
	ra.Spec.Contract.TaskLookup.Mode = v1alpha1.LookupNone
	ra.Spec.Updates.Mode = v1alpha1.UpdatesPoll
	// A Duration that is zero in Go is a zero in the manifest and not the schema's default.
	ra.Spec.Updates.PollInterval.Duration, ra.Spec.Updates.MaxPollInterval.Duration = time.Second, time.Minute
	ra.Spec.Delivery.AttemptTimeout.Duration = 30 * time.Second
	ra.Spec.Delivery.MaxInFlight, ra.Spec.Delivery.RequestsPerSecond = 1000, 100000
	return l.Client.Create(ctx, ra)
}

// Create makes the Delegation of a number.
func (l *Load) Create(ctx context.Context, i int) error {
	d := &v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: fmt.Sprintf("d-%06d", i)}}
	d.Spec.AgentRef.Name = AgentName
	d.Spec.Message.Parts = []v1alpha1.Part{{Text: &l.Text}}
	d.Spec.DeliveryDeadline.Duration = 72 * time.Hour
	if l.TTL > 0 {
		seconds := int32(l.TTL / time.Second)
		d.Spec.TTLSecondsAfterFinished = &seconds
	}
	return l.Client.Create(ctx, d)
}

// Fill makes the Delegations from one number on to before another, several at once.
func (l *Load) Fill(ctx context.Context, from, to int) error {
	const writers = 16
	return Each(ctx, writers, from, to, l.Create)
}

// Steady makes a number of Delegations each second until ctx ends, and returns how many it made. One that takes long does not
// hold up the next.
func (l *Load) Steady(ctx context.Context, perSecond, from int) (int, error) {
	tick := time.NewTicker(time.Second / time.Duration(perSecond))
	defer tick.Stop()
	var busy sync.WaitGroup
	defer busy.Wait()
	failed := make(chan error, 1)
	for i := from; ; i++ {
		select {
		case <-ctx.Done():
			return i - from, nil
		case err := <-failed:
			return i - from, err
		case <-tick.C:
		}
		busy.Go(func() {
			if err := l.Create(ctx, i); err != nil && ctx.Err() == nil {
				select {
				case failed <- err:
				default: // one is enough
				}
			}
		})
	}
}
