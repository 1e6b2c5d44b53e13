// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package harness

import "errors"

func peakMemory(int) (int64, error) { return 0, errors.ErrUnsupported }
