// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// These calls are nothing that a decision waits for, so that they are not among outbox's.
const (
	callCreatePush outbox.Call = "CreateTaskPushNotificationConfig"
	callDeletePush outbox.Call = "DeleteTaskPushNotificationConfig"
)

// CreatePush asks the agent to push what becomes of a task (A2A 1.0, section 3.1.7). One that has a configuration of that
// id replaces it. Refused with reason PushNotificationNotSupported says that it never pushes.
func (c *Client) CreatePush(ctx context.Context, taskID string, to *a2a.PushConfig) outbox.Exchange {
	params := *to
	params.TaskID, params.Tenant = a2a.TaskID(taskID), c.tenant
	_, ex := c.exchange(ctx, request{call: callCreatePush, params: &params})
	return ex
}

// DeletePush takes back what CreatePush asked for, or the message did (A2A 1.0, section 3.1.10). The answer has no
// content, so that the outcome says little.
func (c *Client) DeletePush(ctx context.Context, taskID, id string) outbox.Exchange {
	params := &a2a.DeleteTaskPushConfigRequest{Tenant: c.tenant, TaskID: a2a.TaskID(taskID), ID: id}
	_, ex := c.exchange(ctx, request{call: callDeletePush, params: params})
	return ex
}

// encodePush returns the HTTP+JSON requests of the two.
func (b rest) encodePush(params any) (parcel, error) {
	switch r := params.(type) {
	case *a2a.PushConfig:
		bare := *r
		bare.Tenant = ""
		body, err := json.Marshal(&bare)
		return b.post(b.locate(r.Tenant, "/tasks/"+segment(string(r.TaskID))+"/pushNotificationConfigs"), body), err
	case *a2a.DeleteTaskPushConfigRequest:
		u := b.locate(r.Tenant, "/tasks/"+segment(string(r.TaskID))+"/pushNotificationConfigs/"+segment(r.ID))
		return parcel{method: http.MethodDelete, url: u, header: b.header()}, nil
	}
	return parcel{}, errNoRequest
}

// The gRPC methods of the two. What they return has a JSON form in any case.
func init() {
	methods[callCreatePush] = method{
		path: a2apb.A2AService_CreateTaskPushNotificationConfig_FullMethodName,
		in:   func() proto.Message { return &a2apb.TaskPushNotificationConfig{} },
		out:  func() proto.Message { return &a2apb.TaskPushNotificationConfig{} }, reduce: func(proto.Message) {},
	}
	methods[callDeletePush] = method{
		path: a2apb.A2AService_DeleteTaskPushNotificationConfig_FullMethodName,
		in:   func() proto.Message { return &a2apb.DeleteTaskPushNotificationConfigRequest{} },
		out:  func() proto.Message { return &emptypb.Empty{} }, reduce: func(proto.Message) {},
	}
}
