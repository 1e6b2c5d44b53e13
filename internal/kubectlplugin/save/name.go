// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package save puts the content of artifacts together, checks it, and writes it into one directory. Names come from agents
// that may be hostile: none of them leads out of the directory or over a file that is there.
package save

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// maxName leaves room for a number below the 255 bytes that file systems take.
const maxName = 200

// reserved are names that are devices on Windows, with any extension.
var reserved = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?$`)

// Names gives each artifact the name of a file. No two are the same, also where the file system ignores case.
func Names(list []v1alpha1.ArtifactStatus) []string {
	taken := map[string]bool{}
	var names []string
	for _, a := range list {
		base := fileName(cmp.Or(a.Name, a.ArtifactID))
		name := base
		for n := 2; taken[strings.ToLower(name)]; n++ {
			name = numbered(base, n)
		}
		taken[strings.ToLower(name)] = true
		names = append(names, name)
	}
	return names
}

// fileName makes a plain file name of an agent's: one path element, not hidden, no device, nothing that a shell or a terminal
// would act on.
func fileName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), strings.ContainsRune("._-+ @()[]", r):
			return r
		}
		return '-'
	}, strings.ToValidUTF8(s, "-"))
	for len(s) > maxName {
		runes := []rune(s)
		s = string(runes[:len(runes)-1])
	}
	s = strings.TrimLeft(s, ".- ")
	s = strings.TrimRight(s, ". ")
	switch {
	case s == "":
		return "artifact"
	case reserved.MatchString(s):
		return "artifact-" + s
	}
	return s
}

// numbered puts a number before the extension.
func numbered(name string, n int) string {
	stem, ext := name, ""
	if at := strings.LastIndex(name, "."); at > 0 {
		stem, ext = name[:at], name[at:]
	}
	return fmt.Sprintf("%s-%d%s", stem, n, ext)
}
