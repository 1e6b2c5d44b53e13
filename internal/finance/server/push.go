// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"time"

	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/push"
)

// pushTimeout bounds one push notification: the task waits for it.
const pushTimeout = 5 * time.Second

// pushNotifications lets the agent send push notifications, or not. They go to private addresses too, which the SDK forbids by
// default: this agent is for demonstrations and tests.
func pushNotifications(on bool) a2asrv.RequestHandlerOption {
	if !on {
		return a2asrv.WithPushNotifications(nil, nil)
	}
	return a2asrv.WithPushNotifications(push.NewInMemoryStore(),
		push.NewHTTPPushSender(&push.HTTPSenderConfig{Timeout: pushTimeout, AllowPrivateNetworks: true}))
}
