// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/testenv"
)

// The bench starts its own program as the agent, which is the test's here.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == agentCommand {
		if err := serveAgent(context.Background(), os.Args[2:]); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A tiny bench goes through all of its parts, and what it counts does not depend on how fast the machine is.
func TestBench(t *testing.T) {
	testenv.Binary(t, "manager")
	s := settings{rounds: 1, batch: 12, writers: 4, singles: 2, length: 100 * time.Millisecond, work: 50 * time.Millisecond}
	rounds, err := measureAll(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	medians := mediansOf(rounds)
	for key, want := range map[string]float64{"writesPerDelegation": 3, "configMapsPerDelegation": 0, "duplicates": 0} {
		if medians[key] != want {
			t.Errorf("%s = %g, want %g", key, medians[key], want)
		}
	}
	if got := len(rounds[0].batch.received); got != s.batch {
		t.Errorf("%d latencies, want one for each of %d Delegations", got, s.batch)
	}
	for _, m := range measures {
		if each, _ := m.values(rounds); m.aim == "" && m.key == "" && each[0] <= 0 && !strings.Contains(m.title, "CPU") {
			t.Errorf("%s = %g, want more than nothing", m.title, each[0])
		}
	}
}

// A setting that can't be measured with is refused before anything is started, by the name of its flag.
func TestSettings(t *testing.T) {
	for flag, args := range map[string][]string{
		"-rounds":   {"bench", "-rounds=0"},
		"-batch":    {"bench", "-batch=-1"},
		"-writers":  {"check", "-writers=0"},
		"-singles":  {"bench", "-singles=0"},
		"-floor":    {"floor", "-floor=0s"},
		"-work":     {"bench", "-work=-1s"},
		"-rate":     {"sustained", "-rate=0"},
		"-duration": {"sustained", "-duration=1s"},
		"-n":        {"recovery", "-n=1001"},
		"more":      {"bench", "more"},
		"commands":  {"benchmark"},
	} {
		if err := run(t.Context(), args); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%q: %v; want an error that names %s", args, err, flag)
		}
	}
}
