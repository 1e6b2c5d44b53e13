// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/delegation-dev/delegation-operator/test/harness"
)

// screens collects what a person saw, and holds it against docs/screens and docs/kubectl.md.
type screens struct {
	t *testing.T
	s *harness.Space
	// ids are the UUIDs in the order in which they were seen.
	ids []string
	// shown is what was seen, by the name of its file.
	shown map[string]string
	order []string
}

func newScreens(t *testing.T, s *harness.Space) *screens {
	return &screens{t: t, s: s, shown: map[string]string{}}
}

// run runs a command, shows it as a person types it, and wants an exit code.
func (w *screens) run(file string, code int, args ...string) harness.Ran {
	w.t.Helper()
	ran := w.s.Seen(args...)
	if ran.Code != code {
		w.t.Fatalf("kubectl delegation %q: exit code %d, want %d\n%s", args, ran.Code, code, ran.Output)
	}
	words := []string{"$ kubectl delegation"}
	for _, a := range args {
		if strings.ContainsAny(a, " {}\"") {
			a = "'" + a + "'"
		}
		words = append(words, a)
	}
	text := strings.Join(words, " ") + "\n" + ran.Output
	if code != 0 {
		text += fmt.Sprintf("$ echo $?\n%d\n", code)
	}
	if _, seen := w.shown[file]; !seen {
		w.order = append(w.order, file)
	}
	w.shown[file] += text
	return ran
}

var (
	uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	ages  = regexp.MustCompile(` [0-9]+s `)
	ports = regexp.MustCompile(`127\.0\.0\.1:[0-9]+`)
)

// settled makes two runs alike: ids by their order, ages, ports and the namespace's name.
func (w *screens) settled(text string) string {
	text = uuids.ReplaceAllStringFunc(text, func(id string) string {
		at := slices.Index(w.ids, id)
		if at < 0 {
			at, w.ids = len(w.ids), append(w.ids, id)
		}
		return fmt.Sprintf("%08x-0000-4000-8000-%012x", at+1, at+1)
	})
	text = ages.ReplaceAllStringFunc(text, func(age string) string { return " 9s" + strings.Repeat(" ", max(1, len(age)-3)) })
	text = ports.ReplaceAllString(text, "127.0.0.1:8090")
	return strings.ReplaceAll(text, w.s.Namespace, "books")
}

// moving are lines about what passes by: which of them are seen depends on how fast the machine is.
var moving = regexp.MustCompile(`(?m)^\S+ +(Pending|Sending|Submitted|Working)\b.*\n`)

// compare holds the screens against their files, or writes these.
func (w *screens) compare() {
	w.t.Helper()
	root := harness.Root(w.t)
	page := filepath.Join(root, "docs", "kubectl.md")
	doc := read(w.t, page)
	for _, name := range w.order {
		got := w.settled(w.shown[name])
		file := filepath.Join(root, "docs", "screens", name+".txt")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				w.t.Fatal(err)
			}
			doc = embed(w.t, doc, name, got)
			continue
		}
		want := read(w.t, file)
		if diff := cmp.Diff(moving.ReplaceAllString(want, ""), moving.ReplaceAllString(got, "")); diff != "" {
			w.t.Errorf("%s is not what is shown; look at it, and write it with -update (-want +got):\n%s", file, diff)
		}
		if embed(w.t, doc, name, want) != doc {
			w.t.Errorf("docs/kubectl.md has another screen %s than %s: write both with -update", name, file)
		}
	}
	if *update {
		if err := os.WriteFile(page, []byte(doc), 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// embed puts a screen into the page, between its mark and the end of the code block that follows it.
func embed(t *testing.T, page, name, screen string) string {
	t.Helper()
	mark := "<!-- screens/" + name + ".txt -->\n```console\n"
	at := strings.Index(page, mark)
	if at < 0 {
		t.Fatalf("docs/kubectl.md has no place for the screen %s: %s", name, mark)
	}
	at += len(mark)
	end := strings.Index(page[at:], "```")
	return page[:at] + screen + page[at+end:]
}
