// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

// readableLength is how much of a name the columns for people hold, in bytes.
const readableLength = 200

// idOf is the row's primary key. The principal's length in front keeps the two parts apart. It must never
// change: the rows of all releases are found by it.
func idOf(key dedup.Key) []byte {
	text := binary.AppendUvarint(nil, uint64(len(key.Principal)))
	text = append(text, key.Principal...)
	sum := sha256.Sum256(append(text, key.MessageID...))
	return sum[:]
}

// readable is a name as people can read it, and as both databases store text: PostgreSQL takes neither
// zero bytes nor invalid UTF-8.
func readable(name string) string {
	quoted := strconv.Quote(name[:min(len(name), readableLength)])
	if unchanged := quoted[1 : len(quoted)-1]; unchanged == name {
		return name
	}
	return strings.ToValidUTF8(quoted, "")
}
