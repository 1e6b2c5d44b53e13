// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
)

// maxPrincipal is how long a name in the table's key may be before it is hashed, in bytes.
const maxPrincipal = 512

// within is the key's name of a principal in a tenant. The first "|" ends the tenant, since it is escaped in one.
func within(tenant, principal string) string {
	name := url.QueryEscape(tenant) + "|" + principal
	if len(name) <= maxPrincipal {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return "sha256|" + hex.EncodeToString(sum[:])
}

// tenantOf is the tenant that a send names: in its body or, in HTTP+JSON, by the path between the interface's own and
// the operation. Both bindings give one tenant one name.
func (p *Proxy) tenantOf(ctx context.Context, c *call) (string, error) {
	if c.rpc || c.tenant != "" {
		return c.tenant, nil
	}
	path, err := url.PathUnescape(c.prefix)
	if err != nil || strings.Trim(path, "/") == "" {
		return "", err
	}
	bases := p.RESTPaths
	if len(bases) == 0 {
		if bases, err = p.relay.restPaths(ctx); err != nil {
			return "", err
		}
	}
	return tenantIn(path, bases), nil
}

// tenantIn is what is left of a path behind the longest base that it begins with.
func tenantIn(path string, bases []string) string {
	path, best := strings.Trim(path, "/"), ""
	for _, base := range bases {
		base = strings.Trim(base, "/")
		if len(base) > len(best) && (path == base || strings.HasPrefix(path, base+"/")) {
			best = base
		}
	}
	return strings.Trim(strings.TrimPrefix(path, best), "/")
}
