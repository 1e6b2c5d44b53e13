// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/delegation-dev/delegation-operator/internal/egress"
)

const (
	maxDetail  = 1024
	maxForeign = 256
	maxMessage = 1024
	maxReply   = 4096
	// shortestSecret keeps a one-letter password from turning every text into noise.
	shortestSecret = 4
)

var urlPattern = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]+`)

// oneLine makes a Detail of a text: one line, no control characters, at most 1 KiB.
func oneLine(s string) string {
	return cut(strings.Join(strings.Fields(printable(s)), " "), maxDetail)
}

// paragraph keeps line breaks and tabs, for texts that are an agent's own, and cuts at limit bytes.
func paragraph(s string, limit int) string {
	return cut(printable(s), limit)
}

// printable drops what a terminal would act on: control characters and those that change the direction of writing. Line
// breaks and tabs stay.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return '\n'
		case unicode.IsControl(r), r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r == 0x2028, r == 0x2029:
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// cut shortens s to at most limit bytes without splitting a character.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// private is what one exchange sent and nobody is to read in a Detail.
type private struct {
	// secrets are the values of the headers that carried credentials.
	secrets []string
	// request is the body.
	request []byte
}

// quote makes a text that others wrote fit to be shown. Agents echo what they were sent, so it ends where a payload
// begins or may begin, and credentials and the private parts of URLs are taken out.
func (p private) quote(s string) string {
	return p.strip(s, "{[<", payload(p.request))
}

// cause is quote for errors of net, tls and http, which put what the peer sent into quotation marks and an IPv6 address
// into brackets. A connection that is denied has a text of this program's own, which is to be read as a whole.
func (p private) cause(err error) string {
	var denied *egress.DeniedError
	if errors.As(err, &denied) {
		return oneLine(denied.Error())
	}
	return p.strip(err.Error(), `{<"`, nil)
}

func (p private) strip(s, opening string, payload []string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	for _, secret := range p.secrets {
		if len(secret) >= shortestSecret {
			s = strings.ReplaceAll(s, secret, "…")
		}
	}
	s = urlPattern.ReplaceAllStringFunc(s, publicURL)
	if i := strings.IndexAny(s, opening); i >= 0 {
		s = s[:i]
	}
	for _, begin := range payload {
		s, _, _ = strings.Cut(s, begin)
	}
	return strings.TrimRight(cut(oneLine(s), maxForeign), " :;,('")
}

// publicURL drops userinfo, query and fragment.
func publicURL(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return "…"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
