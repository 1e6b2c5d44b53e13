// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// amend writes what object differs in from read, status apart, unless somebody else wrote it since it was read: that is a
// conflict. Object is as the API server has it afterwards.
//
// It is a patch of what differs, with the resourceVersion. An Update would write every field in the spelling of this program,
// 24h0m0s for a user's 24h, and take the field from the one who applies the manifest.
func amend(ctx context.Context, c client.Client, object, read client.Object) error {
	return c.Patch(ctx, object, client.MergeFromWithOptions(read, client.MergeFromWithOptimisticLock{}))
}
