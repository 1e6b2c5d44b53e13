// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"k8s.io/apimachinery/pkg/types"
)

// ErrURL says that a URL is none that agents can push to.
var ErrURL = errors.New("not a URL for push notifications")

// Offer makes what agents are told of where to push. It depends on nothing but the base URL, the key and the Delegation, so
// that a message which is sent again offers the same.
type Offer struct {
	base   *url.URL
	tokens *Tokens
}

// NewOffer returns the offer of the receiver that agents reach by a base URL. The error wraps ErrURL.
func NewOffer(base string, tokens *Tokens) (*Offer, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("%w: give an absolute http or https URL, such as https://push.example.com/a2a", ErrURL)
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return nil, fmt.Errorf("%w: it must have no credentials, query or fragment", ErrURL)
	}
	return &Offer{base: u, tokens: tokens}, nil
}

// Config is what an agent is told for one Delegation (A2A 1.0, TaskPushNotificationConfig). The path names it by its UID,
// which says nothing of names in the cluster. The same UID is the configuration's id, so that it can be taken back.
func (o *Offer) Config(delegation types.UID) *a2a.PushConfig {
	return &a2a.PushConfig{ID: string(delegation), URL: o.base.JoinPath(string(delegation)).String(), Token: o.tokens.Of(delegation)}
}
