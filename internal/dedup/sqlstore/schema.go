// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"embed"

	"github.com/delegation-dev/delegation-operator/internal/sqldb"
)

//go:embed schema/*.sql
var schemaFiles embed.FS

var schema = sqldb.Schema{Versions: "a2a_dedup_schema", Steps: schemaFiles, Lock: 4117006121853}
