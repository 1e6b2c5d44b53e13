package agent

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/delegation-dev/delegation-operator/internal/finance"
)

// leaveOutClauses find what a request in words wants left out: "without X" and "leave out X" alike, up to
// the end of the sentence.
var leaveOutClauses = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(?:without|exclud(?:e|ing)|omit(?:ting)?)\b([^.;\n]*)`),
	regexp.MustCompile(`(?i)\bleav(?:e|ing)\b([^.;\n]*?)\bout\b([^.;\n]*)`),
}

// leaveOutOf reads groups by their names, and takes every word with letters and digits for an id or a
// reference.
func leaveOutOf(text string) []string {
	var names []string
	for _, clause := range leaveOutClauses {
		for _, match := range clause.FindAllStringSubmatch(text, -1) {
			for _, word := range strings.Fields(strings.Join(match[1:], " ")) {
				word = strings.Trim(word, `,:!?"'()`)
				lower := strings.ToLower(word)
				switch {
				case strings.HasPrefix(lower, "adjustment"):
					names = append(names, finance.GroupAdjustments)
				case lower == "fee" || lower == "fees":
					names = append(names, finance.GroupFees)
				case strings.ContainsFunc(word, unicode.IsLetter) && strings.ContainsFunc(word, unicode.IsDigit):
					names = append(names, word)
				}
			}
		}
	}
	return names
}
