// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package save

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// Why there is no content to be saved.
var (
	// ErrElsewhere: the artifact is a URL, which nobody but the user follows.
	ErrElsewhere = errors.New("it is a URL")
	// ErrNotKept: only the agent has the content.
	ErrNotKept = errors.New("the cluster does not have its content")
	// ErrDigest: what is stored is not what the status describes.
	ErrDigest = errors.New("size or digest are not those of status.artifacts")
)

// Maps reads a ConfigMap of the Delegation's namespace.
type Maps func(name string) (*corev1.ConfigMap, error)

// Content returns the whole content of an artifact, and only if size and digest are as the status says.
func Content(a v1alpha1.ArtifactStatus, maps Maps) ([]byte, error) {
	switch {
	case a.Truncated:
		return nil, ErrNotKept
	case a.Text != "":
		return verified([]byte(a.Text), a.Size, a.Digest)
	case a.ConfigMapRef != nil:
		content, err := stored(*a.ConfigMapRef, maps)
		if err != nil {
			return nil, err
		}
		return verified(content, a.Size, a.Digest)
	case len(a.Chunks) > 0:
		return joined(a, maps)
	case a.URL != "":
		return nil, ErrElsewhere
	case a.Size > 0:
		return nil, ErrNotKept
	}
	return []byte{}, nil
}

func joined(a v1alpha1.ArtifactStatus, maps Maps) ([]byte, error) {
	var whole []byte
	for i, c := range a.Chunks {
		piece, err := stored(c.ConfigMapRef, maps)
		if err == nil {
			piece, err = verified(piece, c.Size, c.Digest)
		}
		if err != nil {
			return nil, fmt.Errorf("chunk %d of %d: %w", i+1, len(a.Chunks), err)
		}
		whole = append(whole, piece...)
	}
	return verified(whole, a.Size, a.Digest)
}

func stored(ref v1alpha1.KeyReference, maps Maps) ([]byte, error) {
	cm, err := maps(ref.Name)
	if err != nil {
		return nil, err
	}
	if text, ok := cm.Data[ref.Key]; ok {
		return []byte(text), nil
	}
	if b, ok := cm.BinaryData[ref.Key]; ok {
		return b, nil
	}
	return nil, fmt.Errorf("ConfigMap %s has no key %s", ref.Name, ref.Key)
}

func verified(content []byte, size int64, digest string) ([]byte, error) {
	sum := sha256.Sum256(content)
	if got := "sha256:" + hex.EncodeToString(sum[:]); int64(len(content)) != size || got != digest {
		return nil, fmt.Errorf("%w: %d bytes with %s, and %d bytes with %s are expected", ErrDigest, len(content), got, size, digest)
	}
	return content, nil
}
