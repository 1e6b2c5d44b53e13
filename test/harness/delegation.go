// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// The tables of a very short month, which the finance agent reconciles at once.
const (
	LedgerTable = "entry_id,date,account,counterparty,reference,description,kind,amount\n" +
		"L-1,2026-09-01,6310 Rent,Landlord,RENT-1,Rent,rent,-100.00\n"
	BankTable = "line_id,date,counterparty,reference,description,amount\n" +
		"B-1,2026-09-01,Landlord,RENT-1,Rent,-100.00\n"
)

// AgentName is the RemoteAgent that a Delegation goes to unless it says otherwise.
const AgentName = "finance"

// DelegationBuilder builds a Delegation.
type DelegationBuilder struct{ d *v1alpha1.Delegation }

// Delegation begins one with a text for the agent and nothing else.
func (s *Space) Delegation(name string) *DelegationBuilder {
	d := &v1alpha1.Delegation{}
	d.APIVersion, d.Kind = v1alpha1.GroupVersion.String(), "Delegation"
	d.Namespace, d.Name = s.Namespace, name
	d.Spec.AgentRef.Name = AgentName
	return (&DelegationBuilder{d}).Text("Reconcile September 2026")
}

// Reconciliation begins a Delegation whose message the finance agent can work on.
func (s *Space) Reconciliation(name string) *DelegationBuilder {
	return s.Delegation(name).File("ledger.csv", LedgerTable).File("bank.csv", BankTable)
}

// Agent sets the RemoteAgent.
func (b *DelegationBuilder) Agent(name string) *DelegationBuilder {
	b.d.Spec.AgentRef.Name = name
	return b
}

// AgentIn sets the RemoteAgent and its namespace.
func (b *DelegationBuilder) AgentIn(namespace, name string) *DelegationBuilder {
	b.d.Spec.AgentRef = v1alpha1.AgentReference{Name: name, Namespace: namespace}
	return b
}

// MessageID sets the messageId.
func (b *DelegationBuilder) MessageID(id string) *DelegationBuilder {
	b.d.Spec.MessageID = id
	return b
}

// ContextID sets the contextId.
func (b *DelegationBuilder) ContextID(id string) *DelegationBuilder {
	b.d.Spec.ContextID = id
	return b
}

// Text adds a text part.
func (b *DelegationBuilder) Text(text string) *DelegationBuilder {
	return b.Part(v1alpha1.Part{Text: &text})
}

// File adds a text part with the name of a CSV file.
func (b *DelegationBuilder) File(name, text string) *DelegationBuilder {
	return b.Part(v1alpha1.Part{Text: &text, Filename: name, MediaType: "text/csv"})
}

// Data adds a data part; object is JSON.
func (b *DelegationBuilder) Data(object string) *DelegationBuilder {
	return b.Part(v1alpha1.Part{Data: &apiextensionsv1.JSON{Raw: []byte(object)}})
}

// FileFrom adds a part that takes its content from a ConfigMap's key of the same name.
func (b *DelegationBuilder) FileFrom(configMap, name string) *DelegationBuilder {
	source := &v1alpha1.ValueSource{ConfigMapKeyRef: &v1alpha1.KeyReference{Name: configMap, Key: name}}
	return b.Part(v1alpha1.Part{ValueFrom: source, Filename: name, MediaType: "text/csv"})
}

// Part adds a part.
func (b *DelegationBuilder) Part(p v1alpha1.Part) *DelegationBuilder {
	b.d.Spec.Message.Parts = append(b.d.Spec.Message.Parts, p)
	return b
}

// Build returns the Delegation.
func (b *DelegationBuilder) Build() *v1alpha1.Delegation { return b.d.DeepCopy() }
