// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package postgres

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const childEnv = "POSTGRES_TEST_CHILD"

// The test's process is killed: its cluster ends too, and the next start removes what it left.
func TestClusterEndsWithAKilledTest(t *testing.T) {
	if os.Getenv(childEnv) != "" {
		s := Start(t)
		fmt.Println("cluster", s.postgres.cmd.Process.Pid, s.dir)
		<-t.Context().Done()
		return
	}
	Start(t) // skips where there is no PostgreSQL
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), childEnv+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var (
		pid int
		dir string
	)
	for lines := bufio.NewScanner(out); pid == 0 && lines.Scan(); {
		_, _ = fmt.Sscanf(lines.Text(), "cluster %d %s", &pid, &dir)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // says that it was killed
	if pid == 0 {
		t.Fatal("child made no cluster")
	}
	for deadline := time.Now().Add(20 * time.Second); running(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the cluster goes on without its test")
		}
	}
	Start(t)
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is left behind: %v", dir, err)
	}
}

// running is false for a process that ended and whose new parent has not asked for its status.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

func TestDatabasesAreApart(t *testing.T) {
	s := Start(t)
	if a, b := s.Database(t), s.Database(t); a == b {
		t.Errorf("%s twice", a)
	}
}

// A killed cluster comes back with what was committed; one that was stopped too.
func TestComesBack(t *testing.T) {
	s := Start(t)
	for name, end := range map[string]func() error{"t1": s.Kill, "t2": s.Stop} {
		if err := s.exec(t.Context(), "CREATE TABLE "+name+" ()"); err != nil {
			t.Fatal(err)
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if err := s.exec(t.Context(), "SELECT"); err == nil {
			t.Fatal("the cluster answers after its end")
		}
		if err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.exec(t.Context(), "SELECT FROM "+name); err != nil {
			t.Error(err)
		}
	}
}

func TestClusterIsRemoved(t *testing.T) {
	s, err := New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("%s is left behind: %v", s.dir, err)
	}
	if running(s.postgres.cmd.Process.Pid) {
		t.Error("the cluster is still running")
	}
}

func TestLeftoversOfLiveProcessesStay(t *testing.T) {
	parent := t.TempDir()
	mine := filepath.Join(parent, fmt.Sprint(prefix, syscall.Getpid(), "-1"))
	foreign := filepath.Join(parent, prefix+"notes")
	for _, dir := range []string{mine, foreign} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	removeLeftovers(parent)
	for _, dir := range []string{mine, foreign} {
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
	}
}
