// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/delegation-dev/delegation-operator/internal/testenv"
)

// RunRemedy runs the last command that the Delegation's condition names, as a person does who copies it into a shell.
func (s *Space) RunRemedy(name string) {
	s.t.Helper()
	s.runFrom(name, "kubectl ")
}

// RunCommand runs the command of the condition that names an action, with a text in it replaced where old is given.
func (s *Space) RunCommand(name, action string, replace ...string) {
	s.t.Helper()
	s.runFrom(name, `"action":"`+action+`"`, replace...)
}

func (s *Space) runFrom(name, mark string, replace ...string) {
	s.t.Helper()
	message := Ready(s.Get(name)).Message
	at := strings.LastIndex(message, mark)
	if at < 0 {
		s.t.Fatalf("the condition of %s names no such command (%s): %s", name, mark, message)
	}
	begin := strings.LastIndex(message[:at+len(mark)], "kubectl ")
	command := message[begin:]
	if end := strings.Index(command, `}}}'`); end >= 0 {
		command = command[:end+4]
	}
	command = strings.NewReplacer(replace...).Replace(command)
	s.Shell(command)
}

// Shell runs commands as a person does who copies them into a shell: kubectl is an administrator in the namespace, and the
// working directory is empty before and gone after. It returns what they printed.
func (s *Space) Shell(commands string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", `kubectl() { "$KUBECTL" --kubeconfig="$CONFIG" "$@"; }; `+commands)
	cmd.Env = append(os.Environ(), "KUBECTL="+filepath.Join(testenv.Assets(s.t), "kubectl"), "CONFIG="+s.adminKubeconfig())
	cmd.Dir = s.t.TempDir()
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", commands, err, out)
	}
	return string(out)
}
