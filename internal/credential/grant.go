// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"cmp"
	"fmt"
)

// The ClusterRoles of config/rbac that are bound in each namespace whose credentials the operator is to use, and in no other.
const (
	// SecretReaderRole allows to get Secrets.
	SecretReaderRole = "delegation-operator-secret-reader-role"
	// TokenRole allows to request tokens of ServiceAccounts.
	TokenRole = "delegation-operator-serviceaccount-token-role"
)

// DefaultOperator is who the operator is to the API server when it is installed with config/default.
const DefaultOperator = "system:serviceaccount:delegation-operator-system:delegation-operator-controller-manager"

// Grant returns the command that gives the operator the rights of a ClusterRole in a namespace. RBAC knows a ServiceAccount by
// its user name too, so that it serves an operator that runs as any user. An empty operator is DefaultOperator.
func Grant(role, namespace, operator string) string {
	return fmt.Sprintf("kubectl create rolebinding -n %s %s --clusterrole=%s --user=%s", namespace, role, role, cmp.Or(operator, DefaultOperator))
}
