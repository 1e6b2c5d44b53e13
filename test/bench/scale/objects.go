// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/bench/lab"
)

const (
	// The namespaces of what is finished and of what is active: the witness watches the latter alone.
	finishedNamespace = "bench-finished"
	activeNamespace   = "bench-active"
	promptAgent       = "prompt"
	slowAgent         = "slow"
	// slowInFlight is what a RemoteAgent has where its manifest does not say it.
	slowInFlight      = 16
	promptInFlight    = 64
	requestsPerSecond = 10000

	// putsPerTxn is what etcd takes in one transaction, --max-txn-ops being 128.
	putsPerTxn = 100
	fillWithin = time.Hour
	// templateName is replaced in a template, as are its other names, and so is in nothing else.
	templateName = "bench-template"
)

// What a message and its result may have: a page of text each.
var (
	messageText  = strings.Repeat("Reconcile the accounts of September 2026 with the bank's statement. ", 8)
	artifactText = strings.Repeat("account 1000: 4 bookings, balanced\n", 8)
)

// createWorld makes the namespaces and RemoteAgents.
func createWorld(ctx context.Context, c client.Client, url string) error {
	for _, name := range []string{finishedNamespace, activeNamespace} {
		if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
		for agent, is := range map[string]struct {
			path     string
			inFlight int32
		}{promptAgent: {promptPath, promptInFlight}, slowAgent: {slowPath, slowInFlight}} {
			ra := &v1alpha1.RemoteAgent{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: agent}}
			ra.Spec.Interfaces = []v1alpha1.AgentInterface{{URL: url + is.path}}
			ra.Spec.Delivery.RequestsPerSecond, ra.Spec.Delivery.MaxInFlight = requestsPerSecond, is.inFlight
			// A Duration that is zero in Go is a zero in the manifest and not the schema's default.
			ra.Spec.Delivery.AttemptTimeout.Duration = 30 * time.Second
			ra.Spec.Updates.PollInterval.Duration, ra.Spec.Updates.MaxPollInterval.Duration = 2*time.Second, time.Minute
			if err := c.Create(ctx, ra); err != nil {
				return err
			}
		}
	}
	return nil
}

// newDelegation is as a user's manifest: the operator gives it its ids. The text begins with its name.
func newDelegation(namespace, name, agent string) *v1alpha1.Delegation {
	text := name + " " + messageText
	d := &v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	d.Spec.AgentRef.Name = agent
	d.Spec.Message.Parts = []v1alpha1.Part{{Text: &text}}
	d.Spec.DeliveryDeadline.Duration = 72 * time.Hour
	return d
}

// template is a Delegation as the API server keeps it, and what in it differs from object to object.
type template struct {
	text   string
	uid    string
	taskID string
	key    string
}

// readTemplate takes a Delegation that the API server wrote.
func readTemplate(ctx context.Context, etcd lab.Etcd, d *v1alpha1.Delegation) (*template, error) {
	key := lab.DelegationKeys + d.Namespace + "/"
	got, err := etcd.Get(ctx, key+d.Name)
	if err != nil {
		return nil, err
	}
	if len(got.Kvs) != 1 || !strings.HasPrefix(string(got.Kvs[0].Value), "{") {
		return nil, fmt.Errorf("etcd has no JSON under %s%s", key, d.Name)
	}
	return &template{text: string(got.Kvs[0].Value), uid: string(d.UID), taskID: d.Status.TaskID, key: key}, nil
}

// fill writes copies of the template with the numbers from one on to before another into etcd, past the API server, which
// sees them come in its watch of etcd. It returns the revision of the last.
func (t *template) fill(ctx context.Context, etcd lab.Etcd, name func(int) string, from, to int) (revision int64, err error) {
	for from < to {
		var puts []clientv3.Op
		for ; from < to && len(puts) < putsPerTxn; from++ {
			pairs := []string{templateName, name(from), t.uid, uuid.NewString()}
			if t.taskID != "" {
				pairs = append(pairs, `"`+t.taskID+`"`, `"`+uuid.NewString()+`"`, "task "+t.taskID, "task "+uuid.NewString())
			}
			puts = append(puts, clientv3.OpPut(t.key+name(from), strings.NewReplacer(pairs...).Replace(t.text)))
		}
		done, err := etcd.Txn(ctx).Then(puts...).Commit()
		if err != nil {
			return 0, err
		}
		revision = done.Header.Revision
	}
	return revision, nil
}

// caughtUp waits until the API server's own cache has a revision of etcd: what it still has to read is no matter of the manager's.
func (b *bench) caughtUp(ctx context.Context, revision int64) error {
	from := &client.ListOptions{Limit: 1, Raw: &metav1.ListOptions{
		ResourceVersion: strconv.FormatInt(revision, 10), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	}}
	for end := time.Now().Add(fillWithin); ; {
		err := b.client.List(ctx, &v1alpha1.DelegationList{}, client.InNamespace(activeNamespace), from)
		switch {
		case err == nil:
			return nil
		case !apierrors.IsTimeout(err) || time.Now().After(end):
			return fmt.Errorf("the API server does not have what was written: %w", err)
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

func finishedName(i int) string { return fmt.Sprintf("finished-%06d", i) }

// createTemplate has the API server write a Delegation that nobody has looked at, for the copies, and takes it away again.
func (b *bench) createTemplate(ctx context.Context, agent string) (*template, error) {
	d := newDelegation(activeNamespace, templateName, agent)
	if err := b.client.Create(ctx, d); err != nil {
		return nil, err
	}
	t, err := readTemplate(ctx, b.etcd, d)
	return t, errors.Join(err, b.client.Delete(ctx, d))
}

// remove takes away all under a prefix, past the API server.
func (b *bench) remove(ctx context.Context, prefix string) error {
	_, err := b.etcd.Delete(ctx, prefix, clientv3.WithPrefix())
	return err
}
