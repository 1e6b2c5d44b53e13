// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

func TestWhoIsAskedToPush(t *testing.T) {
	says, silent := &v1alpha1.CardStatus{PushNotifications: true}, &v1alpha1.CardStatus{}
	for _, c := range []struct {
		name string
		mode v1alpha1.UpdateMode
		card *v1alpha1.CardStatus
		want bool
	}{
		{"Auto, and the card says so", v1alpha1.UpdatesAuto, says, true},
		{"Auto, and the card does not", v1alpha1.UpdatesAuto, silent, false},
		{"Auto, without a card", v1alpha1.UpdatesAuto, nil, false},
		{"Push, and the card says so", v1alpha1.UpdatesPush, says, true},
		{"Push, and the card does not", v1alpha1.UpdatesPush, silent, false},
		{"Push, without a card", v1alpha1.UpdatesPush, nil, true},
		{"Poll, and the card says so", v1alpha1.UpdatesPoll, says, false},
		{"Poll, without a card", v1alpha1.UpdatesPoll, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ra := &v1alpha1.RemoteAgent{}
			ra.Spec.Updates.Mode, ra.Status.Card = c.mode, c.card
			if got := pushes(ra); got != c.want {
				t.Errorf("%t, want %t", got, c.want)
			}
		})
	}
}

// An agent that refused is asked again once it is another one.
func TestARefusalIsOfAnAgentAsItIs(t *testing.T) {
	a := &Agents{}
	if a.refusesPush("uid", "1/1.0.0") {
		t.Error("an agent refuses that was never asked")
	}
	a.noteNoPush("uid", "1/1.0.0")
	for made, want := range map[string]bool{"1/1.0.0": true, "2/1.0.0": false, "1/1.0.1": false} {
		if got := a.refusesPush("uid", made); got != want {
			t.Errorf("as %s it refuses: %t, want %t", made, got, want)
		}
	}
	if a.refusesPush("other", "1/1.0.0") {
		t.Error("another agent refuses")
	}
}

// The message that is built once is sent with the offer and without it.
func TestTheMessageIsNotChangedByAnOffer(t *testing.T) {
	config := &a2a.PushConfig{URL: "https://push.example.com/6f0c"}
	request := &a2a.SendMessageRequest{Message: &a2a.Message{ID: "m-1"}, Config: &a2a.SendMessageConfig{AcceptedOutputModes: []string{"text/csv"}}}
	offered := offering(request, config)
	if offered.Config.PushConfig != config || len(offered.Config.AcceptedOutputModes) != 1 || offered.Message != request.Message {
		t.Errorf("%+v", offered)
	}
	if request.Config.PushConfig != nil {
		t.Error("the message was changed")
	}
}
