// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
)

// Build makes the archives and the manifest.
func Build(ctx context.Context, root, dir, version string) error {
	text, err := os.ReadFile(filepath.Join(root, "config", "krew", "delegation.yaml"))
	if err != nil {
		return err
	}
	// The platforms are those of the template: a first pass reads them, with no digest.
	draft, err := Render(string(text), version, func(string) (string, error) { return hex.EncodeToString(make([]byte, 32)), nil })
	if err != nil {
		return err
	}
	m, err := Validate(draft)
	if err != nil {
		return fmt.Errorf("config/krew/delegation.yaml: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	digests := map[string]string{}
	for _, p := range m.Spec.Platforms {
		archive, err := build(ctx, root, p)
		if err != nil {
			return fmt.Errorf("%v: %w", p.Selector.MatchLabels, err)
		}
		if err := os.WriteFile(filepath.Join(dir, path.Base(p.URI)), archive, 0o644); err != nil {
			return err
		}
		sum := sha256.Sum256(archive)
		digests[p.URI] = hex.EncodeToString(sum[:])
		fmt.Printf("%s  %s\n", digests[p.URI], path.Base(p.URI))
	}
	done, err := Render(string(text), version, func(uri string) (string, error) { return digests[uri], nil })
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "delegation.yaml"), []byte(done), 0o644)
}

// build compiles the plugin for a platform and packs it with the license, which krew wants. The archive has no times in it, so
// that the same source is the same archive.
func build(ctx context.Context, root string, p Platform) (archive []byte, err error) {
	work, err := os.MkdirTemp("", "krew-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	out := filepath.Join(work, p.Bin)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, "./cmd/kubectl-delegation")
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, os.Stderr, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.Selector.MatchLabels["os"], "GOARCH="+p.Selector.MatchLabels["arch"])
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return pack([]packed{{out, 0o755}, {filepath.Join(root, "LICENSE"), 0o644}})
}

type packed struct {
	path string
	mode int64
}

func pack(files []packed) ([]byte, error) {
	var buf bytes.Buffer
	zip := gzip.NewWriter(&buf)
	archive := tar.NewWriter(zip)
	for _, file := range files {
		content, err := os.ReadFile(file.path)
		if err != nil {
			return nil, err
		}
		if err := archive.WriteHeader(&tar.Header{Name: filepath.Base(file.path), Mode: file.mode, Size: int64(len(content))}); err != nil {
			return nil, err
		}
		if _, err := archive.Write(content); err != nil {
			return nil, err
		}
	}
	err := errors.Join(archive.Close(), zip.Close())
	return buf.Bytes(), err
}
