// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import "os"

func datasync(f *os.File) error { return f.Sync() }
