// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"bytes"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// resolver returns the field manager that owns spec.resolution, as far as the object tells.
func resolver(d *v1alpha1.Delegation) string {
	for i := len(d.ManagedFields) - 1; i >= 0; i-- {
		entry := &d.ManagedFields[i]
		if entry.FieldsV1 != nil && bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:resolution"`)) && entry.Subresource == "" {
			return entry.Manager
		}
	}
	return "an unnamed manager"
}
