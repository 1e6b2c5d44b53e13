// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import "encoding/json"

const (
	// shortestEcho is how much of a message's content an agent's text must repeat to be taken for an echo.
	shortestEcho = 8
	// echoBegin is how much of it is compared, since agents cut what they repeat.
	echoBegin = 24
)

// payload lists how the pieces of content begin that a request carries: the text in its parts and its metadata.
func payload(request []byte) []string {
	var body any
	if json.Unmarshal(request, &body) != nil {
		return nil
	}
	var found []string
	walk(body, false, func(s string) {
		if len(s) >= shortestEcho {
			found = append(found, cut(s, echoBegin))
		}
	})
	return found
}

// walk calls visit for the strings that are below a member named parts or metadata.
func walk(v any, inside bool, visit func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			walk(member, inside || name == "parts" || name == "metadata", visit)
		}
	case []any:
		for _, element := range v {
			walk(element, inside, visit)
		}
	case string:
		if inside {
			visit(v)
		}
	}
}
