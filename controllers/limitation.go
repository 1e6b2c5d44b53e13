// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// limitations lists what can't be done with an agent, by the protocol of its endpoint and by its card, which is nil for an
// endpoint that was given by hand.
func limitations(endpoint v1alpha1.AgentInterface, card *a2a.AgentCard, mode v1alpha1.UpdateMode) []v1alpha1.Limitation {
	var list []v1alpha1.Limitation
	add := func(reason v1alpha1.LimitationReason, message string) {
		if message != "" {
			list = append(list, v1alpha1.Limitation{Reason: reason, Message: message})
		}
	}
	if !remote.Lists(endpoint) {
		add(v1alpha1.LimitationNoTaskListing, "A2A 0.3 has no ListTasks over JSONRPC. spec.contract.taskLookup.mode counts as None: a message whose "+
			"response is lost is Unknown, unless the agent deduplicates. An interface of protocolVersion 1.x, in the card or in spec.interfaces, changes that")
	}
	add(v1alpha1.LimitationNoStreaming, noStreaming(card, mode))
	add(v1alpha1.LimitationNoPushNotifications, noPush(card, mode))
	if endpoint.ProtocolBinding == string(a2a.TransportProtocolGRPC) {
		add(v1alpha1.LimitationRoundedNumbers, "protocol buffers round numbers in data that no 64-bit float holds, such as long account numbers: write these as strings")
	}
	return list
}

// noStreaming says why there are no streams of the agent's tasks; nothing where there are. The owner's word that there are
// counts for more than the card's that there are none.
func noStreaming(card *a2a.AgentCard, mode v1alpha1.UpdateMode) string {
	switch {
	case mode == v1alpha1.UpdatesSubscribe:
		return ""
	case card == nil:
		return "spec.interfaces was given, and only a card says that an agent streams: tasks are polled. spec.updates.mode: Subscribe says it without a card"
	case !card.Capabilities.Streaming:
		return "the agent's card does not say capabilities.streaming: tasks are polled. spec.updates.mode: Subscribe says it against the card"
	}
	return ""
}

// noPush says why the agent does not call back; nothing where it does.
func noPush(card *a2a.AgentCard, mode v1alpha1.UpdateMode) string {
	switch {
	case card == nil && mode == v1alpha1.UpdatesPush:
		return ""
	case card == nil:
		return "spec.interfaces was given, and only a card says that an agent calls back: tasks are polled. spec.updates.mode: Push says it without a card"
	case !card.Capabilities.PushNotifications:
		return "the agent's card does not say capabilities.pushNotifications: changes are heard of by streams or by looks"
	}
	return ""
}
