// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/kubectlplugin"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// display takes what is written to a terminal.
type display struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (d *display) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.buf.Write(p)
}

func (d *display) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.buf.String()
}

// rows are what a person sees in the end: lines that are written over are gone.
func (d *display) rows() []string {
	var rows []string
	at := 0
	for _, line := range strings.SplitAfter(d.String(), "\n") {
		if up, rest, ok := strings.Cut(strings.TrimPrefix(line, "\x1b["), "A"); ok && strings.HasPrefix(line, "\x1b[") {
			if n, err := strconv.Atoi(up); err == nil {
				at, line = at-n, rest
			}
		}
		text, cleared := strings.CutPrefix(line, "\r\x1b[K")
		if !cleared {
			continue
		}
		if text = strings.TrimSuffix(text, "\n"); at < len(rows) {
			rows[at] = text
		} else {
			rows = append(rows, text)
		}
		at++
	}
	return rows
}

// On a terminal there is one line for each Delegation, and it is rewritten.
func TestWatchOnATerminal(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	put(t, s, s.Delegation("x").Build(), v1alpha1.DelegationStatus{Phase: v1alpha1.PhaseWorking, TaskID: "t-1"})
	put(t, s, s.Delegation("y").Build(), v1alpha1.DelegationStatus{Phase: v1alpha1.PhaseCompleted, Reply: strings.Repeat("long ", 100)})
	screen := &display{}
	ended := make(chan int)
	go func() {
		ended <- kubectlplugin.Run(t.Context(), "kubectl delegation", []string{"watch", "--kubeconfig", s.Kubeconfig()},
			genericiooptions.IOStreams{In: strings.NewReader(""), Out: screen, ErrOut: &display{}},
			kubectlplugin.Terminal{Is: true, Size: func() (int, int, bool) { return 80, 24, true }})
	}()
	harness.Eventually(t, harness.Patience, "the watch to show x", func(context.Context) (bool, string) {
		return strings.Contains(screen.String(), "Working"), screen.String()
	})
	x := s.Get("x")
	x.Status.Phase = v1alpha1.PhaseFailed
	if err := s.Client.Status().Update(t.Context(), x); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code != 2 {
		t.Errorf("exit code %d, want 2", code)
	}
	rows := screen.rows()
	if len(rows) != 2 || !strings.Contains(rows[0], "Failed") || !strings.Contains(rows[1], "Completed") {
		t.Errorf("in the end there is\n%s\nof %q", strings.Join(rows, "\n"), screen.String())
	}
	for _, row := range rows {
		if n := len([]rune(row)); n > 80 {
			t.Errorf("a row of %d columns: %q", n, row)
		}
	}
}

// A terminal gets no commands from agents in any format, also one that can rewrite nothing. A pipe gets what is there.
func TestHostileFormatsOnATerminal(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	// Without U+009B, which the library for YAML refuses to write.
	const evil = "clear\x1b[2J \u202eabc\x07"
	put(t, s, s.Delegation("evil").Build(), v1alpha1.DelegationStatus{
		Phase: v1alpha1.PhaseInputRequired, Interruptions: 1, Question: evil,
		Artifacts: []v1alpha1.ArtifactStatus{{ArtifactID: "1", Name: evil, Text: evil, Size: int64(len(evil)), Digest: digest(evil)}},
	})
	for _, args := range [][]string{
		{"get", "evil", "-o", "yaml"}, {"get", "-o", "yaml"}, {"get", "evil", "-o", "json"}, {"get", "evil", "-o", "jsonpath={.status.question}"},
		{"get", "evil", "-o", "go-template={{.status.question}}"}, {"artifacts", "evil", "-o", "yaml"}, {"artifacts", "evil", "--show", "1"},
	} {
		for _, is := range []bool{true, false} {
			screen := &display{}
			code := kubectlplugin.Run(t.Context(), "kubectl delegation", append(args, "--kubeconfig", s.Kubeconfig()),
				genericiooptions.IOStreams{In: strings.NewReader(""), Out: screen, ErrOut: screen},
				kubectlplugin.Terminal{Is: is, Size: func() (int, int, bool) { return 0, 0, false }})
			if out := screen.String(); code != 0 || !strings.Contains(out, "clear") || is && strings.ContainsAny(out, "\x1b\u009b\u202e\x07") {
				t.Errorf("kubectl delegation %q on a terminal (%t): exit code %d, %q", args, is, code, out)
			} else if !is && args[len(args)-1] == "1" && out != evil {
				t.Errorf("a pipe gets %q", out)
			}
		}
	}
}
