// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

func TestExtensionRetention(t *testing.T) {
	for retention, want := range map[time.Duration]string{
		72 * time.Hour:                  "72h",
		90 * time.Minute:                "1h30m",
		10 * time.Minute:                "10m",
		100 * time.Hour:                 "100h",
		time.Hour + 30*time.Second:      "1h0m30s",
		20 * time.Second:                "20s",
		1500 * time.Millisecond:         "1.5s",
		time.Hour + 10*time.Millisecond: "1h0m0.01s",
	} {
		ext := dedup.Extension(retention)
		got, _ := ext.Params[dedup.ParamRetention].(string)
		if back, err := time.ParseDuration(got); got != want || err != nil || back != retention {
			t.Errorf("retention %v is written %q, read as %v (%v)", retention, got, back, err)
		}
		if ext.URI != dedup.ExtensionURI || ext.Required {
			t.Errorf("extension %+v", ext)
		}
	}
}
