// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"regexp"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// generation is a version of the protocol whose later minor versions are spoken too.
type generation string

const (
	v1  generation = "1"
	v03 generation = "0.3"
)

// dialect is a protocol binding of a generation.
type dialect struct {
	binding    a2a.TransportProtocol
	generation generation
}

// dialects are those that this package speaks, the preferred first.
var dialects = []dialect{
	{a2a.TransportProtocolJSONRPC, v1},
	{a2a.TransportProtocolHTTPJSON, v1},
	{a2a.TransportProtocolGRPC, v1},
	{a2a.TransportProtocolJSONRPC, v03},
}

// dialectOf is the dialect of an interface, of which an empty binding and version mean the defaults of the API.
func dialectOf(i v1alpha1.AgentInterface) (dialect, error) {
	binding, version := i.ProtocolBinding, i.ProtocolVersion
	if binding == "" {
		binding = string(a2a.TransportProtocolJSONRPC)
	}
	if version == "" {
		version = string(a2a.Version)
	}
	return understood(binding, version)
}

// understood is the dialect of a binding in a version. Agents write the names of bindings in any case.
func understood(binding, version string) (dialect, error) {
	known := false
	for _, d := range dialects {
		if strings.EqualFold(binding, string(d.binding)) {
			known = true
			if d.generation.covers(version) {
				return d, nil
			}
		}
	}
	switch {
	case !known:
		return dialect{}, ErrBindingUnsupported
	case version == "":
		return dialect{}, ErrVersionMissing
	}
	return dialect{}, ErrVersionUnsupported
}

// versions are those of each generation, as far as the API can hold them.
var versions = map[generation]*regexp.Regexp{
	v1:  regexp.MustCompile(`^1(\.[0-9]{1,6}){0,2}$`),
	v03: regexp.MustCompile(`^0\.3(\.[0-9]{1,6})?$`),
}

// covers reports whether a version is the generation's.
func (g generation) covers(version string) bool { return versions[g].MatchString(bare(version)) }

// bare is a version without the letter that some put before it.
func bare(version string) string { return strings.TrimPrefix(version, "v") }

// lists reports whether the dialect has ListTasks. A2A 0.3 has it over gRPC and HTTP+JSON only (section 3.5.6).
func (d dialect) lists() bool { return d.generation != v03 }

// extensionsHeader names the header in which a client lists extensions (A2A 1.0, section 3.2.6; A2A 0.3, topic Extensions).
func (d dialect) extensionsHeader() string {
	if d.generation == v03 {
		return "X-" + a2a.SvcParamExtensions
	}
	return a2a.SvcParamExtensions
}

// Lists reports whether tasks can be listed at an interface, as a lookup needs it. It is false for A2A 0.3 over JSON-RPC,
// which has no such method, and for what is not spoken.
func Lists(i v1alpha1.AgentInterface) bool {
	d, err := dialectOf(i)
	return err == nil && d.lists()
}
