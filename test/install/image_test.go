// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"debug/elf"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/test/harness"
)

// buildTimeout is for a build whose dependencies are compiled already; go test has compiled them for the programs.
const buildTimeout = 10 * time.Minute

// The image's programs are built as the Dockerfile says, from the files that it copies and nothing else, and need neither a
// loader nor libraries, which the image does not have.
func TestTheImagesPrograms(t *testing.T) {
	t.Parallel()
	lines := dockerfile(t)
	workspace, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	var build string
	programs, targets := map[string]string{}, map[string]bool{}
	for _, line := range lines {
		words := strings.Fields(line)
		switch {
		case words[0] == "COPY" && !strings.HasPrefix(words[1], "--"):
			for _, source := range words[1 : len(words)-1] {
				copyForImage(t, source, filepath.Join(workspace, words[len(words)-1]))
			}
		case words[0] == "COPY":
			programs[words[3]] = words[2]
		case words[0] == "RUN" && strings.Contains(line, "go build"):
			build = strings.ReplaceAll(strings.TrimPrefix(line, "RUN "), "/out", out)
		case words[0] == "FROM" && strings.Contains(line, " AS ") && words[len(words)-1] != "builder":
			targets[words[len(words)-1]] = true
			if words[1] != "gcr.io/distroless/static:nonroot" {
				t.Errorf("%s: not an image without a shell", line)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), buildTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", build)
	cmd.Dir = workspace
	// A pod's platform is what it runs on, unless the builder says otherwise.
	cmd.Env = append(os.Environ(), "TARGETOS=", "TARGETARCH=")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, text)
	}
	for _, name := range []string{"manager", "dedup-proxy"} {
		if !targets[name] || programs["/"+name] != "/out/"+name {
			t.Errorf("the Dockerfile has no target %s with the program: %v, %v", name, targets, programs)
		}
		requireStatic(t, filepath.Join(out, name))
	}
}

// dockerfile returns the instructions, each in one line.
func dockerfile(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(harness.Root(t), "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	joined := strings.ReplaceAll(string(text), "\\\n", " ")
	for _, line := range regexp.MustCompile(`(?m)^[A-Z]+ .*$`).FindAllString(joined, -1) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

// copyForImage copies what .dockerignore lets through: no tests.
func copyForImage(t *testing.T, source, target string) {
	t.Helper()
	root := harness.Root(t)
	err := filepath.WalkDir(filepath.Join(root, source), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		relative, err := filepath.Rel(filepath.Join(root, source), path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		to := filepath.Join(target, relative)
		if relative == "." {
			to = filepath.Join(target, filepath.Base(source))
		}
		return errors.Join(os.MkdirAll(filepath.Dir(to), 0o750), os.WriteFile(to, text, 0o600))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// requireStatic requires a program that asks for no loader and for no library.
func requireStatic(t *testing.T, path string) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = f.Close() }()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("%s is not static: it has %s", filepath.Base(path), p.Type)
		}
	}
}
