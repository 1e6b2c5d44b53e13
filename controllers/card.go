// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// What is kept of a card is bounded: a card comes from outside.
const (
	maxCardText       = 256
	maxCardInterfaces = 16
	maxCardSkills     = 64
)

// describeCard copies what users want to see of a card.
func describeCard(card *a2a.AgentCard) *v1alpha1.CardStatus {
	out := &v1alpha1.CardStatus{
		Name: shown(card.Name), Version: shown(card.Version),
		Streaming: card.Capabilities.Streaming, PushNotifications: card.Capabilities.PushNotifications,
	}
	for _, i := range card.SupportedInterfaces[:min(len(card.SupportedInterfaces), maxCardInterfaces)] {
		out.Interfaces = append(out.Interfaces, v1alpha1.CardInterface{
			URL: shown(i.URL), ProtocolBinding: shown(string(i.ProtocolBinding)), ProtocolVersion: shown(string(i.ProtocolVersion)),
		})
	}
	for _, skill := range card.Skills[:min(len(card.Skills), maxCardSkills)] {
		out.Skills = append(out.Skills, shown(skill.ID))
	}
	return out
}

func shown(s string) string { return truncate(remote.Clean(s), maxCardText) }
