// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package release makes what krew installs the kubectl plugin from.
package release

import (
	"fmt"
	"regexp"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

// Manifest is a plugin in krew's index (krew.googlecontainertools.github.com/v1alpha2), with the fields that are used here. It is
// read strictly, so that another field is an error.
type Manifest struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	Spec       Spec     `json:"spec"`
}

// Metadata names the plugin.
type Metadata struct {
	Name string `json:"name"`
}

// Spec describes it.
type Spec struct {
	Version          string     `json:"version"`
	Homepage         string     `json:"homepage"`
	ShortDescription string     `json:"shortDescription"`
	Description      string     `json:"description"`
	Caveats          string     `json:"caveats"`
	Platforms        []Platform `json:"platforms"`
}

// Platform is one archive.
type Platform struct {
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
	URI    string `json:"uri"`
	Sha256 string `json:"sha256"`
	Bin    string `json:"bin"`
}

// Digest returns the SHA-256 of an archive by the URI from which it will be fetched.
type Digest func(uri string) (string, error)

// Render fills in the template, in krew-release-bot's way.
func Render(text, version string, digest Digest) (string, error) {
	data := struct{ TagName string }{version}
	funcs := template.FuncMap{"addURIAndSha": func(uri, tag string) (string, error) {
		uri = strings.ReplaceAll(uri, "{{ .TagName }}", tag)
		sum, err := digest(uri)
		return fmt.Sprintf("uri: %s\n    sha256: %s", uri, sum), err
	}}
	t, err := template.New("manifest").Option("missingkey=error").Funcs(funcs).Parse(text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = t.Execute(&out, data)
	return out.String(), err
}

var (
	semver = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)
	sha    = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// Validate reads a manifest by the rules of krew's index.
func Validate(text string) (*Manifest, error) {
	m := &Manifest{}
	if err := yaml.UnmarshalStrict([]byte(text), m); err != nil {
		return nil, err
	}
	switch {
	case m.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || m.Kind != "Plugin":
		return nil, fmt.Errorf("apiVersion %q and kind %q are not krew's", m.APIVersion, m.Kind)
	case !semver.MatchString(m.Spec.Version):
		return nil, fmt.Errorf("spec.version: %q is not as v1.2.3", m.Spec.Version)
	case m.Spec.ShortDescription == "" || len(m.Spec.ShortDescription) > 50:
		return nil, fmt.Errorf("spec.shortDescription: %d characters, want 1 to 50", len(m.Spec.ShortDescription))
	case len(m.Spec.Platforms) == 0:
		return nil, fmt.Errorf("spec.platforms: there are none")
	}
	return m, m.platforms()
}

func (m *Manifest) platforms() error {
	seen := map[string]bool{}
	for i, p := range m.Spec.Platforms {
		os, arch := p.Selector.MatchLabels["os"], p.Selector.MatchLabels["arch"]
		switch {
		case os == "" || arch == "" || seen[os+"/"+arch]:
			return fmt.Errorf("spec.platforms[%d]: the selector %q is incomplete or there twice", i, p.Selector.MatchLabels)
		case !sha.MatchString(p.Sha256):
			return fmt.Errorf("spec.platforms[%d].sha256: %q is none", i, p.Sha256)
		case !strings.HasPrefix(p.URI, "https://") || !strings.HasSuffix(p.URI, ".tar.gz"):
			return fmt.Errorf("spec.platforms[%d].uri: %q is no archive", i, p.URI)
		case p.Bin != binary(os):
			return fmt.Errorf("spec.platforms[%d].bin: %q, want %q", i, p.Bin, binary(os))
		}
		seen[os+"/"+arch] = true
	}
	return nil
}

func binary(os string) string {
	if os == "windows" {
		return "kubectl-delegation.exe"
	}
	return "kubectl-delegation"
}
