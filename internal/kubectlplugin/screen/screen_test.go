// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files")

const kubectl = "kubectl delegation"

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestTree(t *testing.T) {
	asks := delegation("q", "Reconcile").phase(v1alpha1.PhaseInputRequired, "InputRequired", "").with(func(s *v1alpha1.DelegationStatus) {
		s.TaskID, s.Question, s.StateMessage, s.Interruptions = "t-1", "Approve?\nAnswer approve.", "Approve?", 1
	})
	for _, c := range []struct {
		name string
		of   string
		all  []v1alpha1.Delegation
	}{
		{"asks", "q", all(asks)},
		{"unknown", "x", all(delegation("x", "Hello").phase(v1alpha1.PhaseUnknown, "OutcomeUnknown", "message m-1 may have been accepted; kubectl patch …"))},
		{"waits", "a", all(asks, delegation("a", "Approve").continues("q").later(time.Second).phase(v1alpha1.PhasePending, "AnsweredByAnother", "b has the question: kubectl delete dlg a"),
			delegation("b", "Reject").continues("a").later(2*time.Second).phase(v1alpha1.PhaseWorking, "Working", ""))},
		{"two-targets", "r", all(delegation("one", "1").phase(v1alpha1.PhaseCompleted, "Completed", ""), delegation("two", "2").phase(v1alpha1.PhaseFailed, "Failed", ""),
			delegation("r", "Merge them").refines("one", "two").phase(v1alpha1.PhasePending, "TargetNotFinished", "waits for two"))},
		{"missing-target", "r", all(delegation("r", "More").refines("gone").phase(v1alpha1.PhasePending, "TargetNotFound", "gone is not there"))},
		{"circle", "a", all(delegation("a", "1").continues("b"), delegation("b", "2").continues("a"))},
		{"results", "x", all(delegation("x", "Hello").phase(v1alpha1.PhaseCompleted, "Completed", "").with(func(s *v1alpha1.DelegationStatus) {
			s.Attempts, s.RecoveredBy, s.Duplicates = 2, v1alpha1.RecoveredByLookup, []v1alpha1.DuplicateTask{{TaskID: "t-2"}}
			s.Artifacts = []v1alpha1.ArtifactStatus{{ArtifactID: "1", Name: "a.txt", Text: "a", Size: 1}, {ArtifactID: "2", URL: "https://x"}, {ArtifactID: "3", Size: 3 << 20, Truncated: true}}
		}))},
	} {
		t.Run(c.name, func(t *testing.T) { golden(t, "tree-"+c.name, Tree(kubectl, Conversation(c.all, c.of))) })
	}
	if Conversation(all(asks), "nobody") != nil {
		t.Error("there is a conversation of nobody")
	}
}

// A watch in a pipe is one line for each thing that is new.
func TestProgress(t *testing.T) {
	moves := []*builder{
		delegation("x", ""),
		delegation("x", "").phase(v1alpha1.PhasePending, "AgentNotFound", "no RemoteAgent finance: kubectl apply one"),
		delegation("x", "").phase(v1alpha1.PhaseSending, "Recovering", "").with(func(s *v1alpha1.DelegationStatus) { s.Attempts, s.LastError = 2, "ResponseLost" }),
		delegation("x", "").phase(v1alpha1.PhaseWorking, "Working", "").with(func(s *v1alpha1.DelegationStatus) { s.TaskID = "t-1" }),
		delegation("x", "").phase(v1alpha1.PhaseWorking, "Canceling", ""),
		delegation("x", "").phase(v1alpha1.PhaseInputRequired, "InputRequired", "").with(func(s *v1alpha1.DelegationStatus) { s.Question, s.Interruptions = "Approve?\nSay so.", 1 }),
		delegation("x", "").phase(v1alpha1.PhaseInputRequired, "InputRequired", "").with(func(s *v1alpha1.DelegationStatus) {
			s.Question, s.Interruptions, s.AnsweredBy = "Approve?", 1, &v1alpha1.Claim{Name: "a", Interruption: 1}
		}),
		delegation("x", "").phase(v1alpha1.PhaseCompleted, "Completed", "").with(func(s *v1alpha1.DelegationStatus) { s.Artifacts = make([]v1alpha1.ArtifactStatus, 2) }),
		delegation("x", "").phase(v1alpha1.PhaseCompleted, "Replied", "").with(func(s *v1alpha1.DelegationStatus) { s.Reply = "42" }),
		delegation("x", "").phase(v1alpha1.PhaseRejected, "TaskTerminal", "the task is done: use refines"),
		delegation("x", "").phase(v1alpha1.PhaseUnknown, "OutcomeUnknown", "message m-1 may have been accepted; kubectl patch …"),
	}
	var lines []string
	for _, b := range moves {
		lines = append(lines, Progress(&b.d, false), Live(&b.d, true, noon.Add(90*time.Second), 60))
	}
	golden(t, "progress", strings.Join(lines, "\n")+"\n")
	for _, line := range lines {
		if strings.ContainsAny(line, "\n\x1b") {
			t.Errorf("%q is more than a line", line)
		}
	}
}

// A terminal shows the last block only, whether it shrinks or grows.
func TestPainter(t *testing.T) {
	var out bytes.Buffer
	p := Painter{Out: &out}
	for _, lines := range [][]string{{"a 1"}, {"a 2", "b 1"}, {"b 2"}} {
		if err := p.Paint(lines); err != nil {
			t.Fatal(err)
		}
	}
	want := "\r\x1b[Ka 1\n" + "\x1b[1A\r\x1b[Ka 2\n\r\x1b[Kb 1\n" + "\x1b[2A\r\x1b[Kb 2\n\x1b[J"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	if got := Fit([]string{"1", "2", "3", "4", "5"}, 4); strings.Join(got, "|") != "1|2|… and 3 more" {
		t.Errorf("%q", got)
	}
}

func TestTexts(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"plain", 10, "plain"}, {"too long a text", 9, "too long…"}, {"日本語テキスト", 7, "日本語…"}, {"a\x1b[31mred\u202e\nb", 20, "a[31mred b"}, {"e\u0301e\u0301", 2, "e\u0301e\u0301"}, {"x", 0, ""},
	} {
		if got := Line(c.in, c.limit); got != c.want || Columns(got) > c.limit {
			t.Errorf("%q in %d columns is %q, want %q", c.in, c.limit, got, c.want)
		}
	}
	if got := Table([][]string{{"A", "B"}, {"日本", "x\x1b"}, {"z"}}); got != "A     B\n日本  x\nz\n" {
		t.Errorf("%q", got)
	}
}
