// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// UnusualLedger has an adjustment that the finance agent asks about.
const UnusualLedger = LedgerTable +
	"L-2,2026-09-28,3950 Accruals,,ADJ-1,Manual correction of an accrual,adjustment,-48250.00\n"

// Question begins a Delegation whose task asks for an approval.
func (s *Space) Question(name string) *DelegationBuilder {
	return s.Delegation(name).File("ledger.csv", UnusualLedger).File("bank.csv", BankTable)
}

// Answer begins a Delegation that answers the question of another.
func (s *Space) Answer(name, target, text string) *DelegationBuilder {
	return s.bare(name).Text(text).With(func(spec *v1alpha1.DelegationSpec) {
		spec.Continues = &v1alpha1.DelegationReference{Name: target}
	})
}

// Refinement begins a Delegation that follows up a finished one.
func (s *Space) Refinement(name, target, text string) *DelegationBuilder {
	return s.bare(name).Text(text).With(func(spec *v1alpha1.DelegationSpec) {
		spec.Refines = []v1alpha1.DelegationReference{{Name: target}}
	})
}

// bare begins a Delegation without a part.
func (s *Space) bare(name string) *DelegationBuilder {
	b := s.Delegation(name)
	b.d.Spec.Message.Parts = nil
	return b
}

// With changes the spec.
func (b *DelegationBuilder) With(change func(*v1alpha1.DelegationSpec)) *DelegationBuilder {
	change(&b.d.Spec)
	return b
}

// With changes the spec.
func (b *RemoteAgentBuilder) With(change func(*v1alpha1.RemoteAgentSpec)) *RemoteAgentBuilder {
	change(&b.ra.Spec)
	return b
}
