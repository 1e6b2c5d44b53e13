// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// prefix begins the name of a cluster's folder; the process that made it follows.
const prefix = "delegation-postgres-"

// install is where the binaries are, and whom they run as. PostgreSQL refuses to run as root.
type install struct {
	bin        string
	credential *syscall.Credential // nil for our own
}

// findInstall takes the newest version of Debian's packages, or else what is in the PATH.
func findInstall() (install, error) {
	found := install{}
	dirs, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return found, err
	}
	newest := -1
	for _, dir := range dirs {
		version, err := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
		if err == nil && version > newest && executable(dir) {
			found.bin, newest = dir, version
		}
	}
	if initdb, err := exec.LookPath("initdb"); found.bin == "" && err == nil {
		found.bin = filepath.Dir(initdb)
	}
	if found.bin == "" {
		return found, ErrMissing
	}
	found.credential, err = credential()
	return found, err
}

func executable(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		if _, err := exec.LookPath(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

func credential() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // no change of user is the usual case
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		account, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL can't run as root, and there is neither a user postgres nor nobody: %w", err)
	}
	uid, errUID := strconv.ParseUint(account.Uid, 10, 32)
	gid, errGID := strconv.ParseUint(account.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(errUID, errGID)
}

// makeDir makes a folder that belongs to the user that the cluster runs as. Its path is short: a socket's
// has to stay below 108 bytes.
func (i install) makeDir(parent string) (string, error) {
	dir, err := os.MkdirTemp(parent, prefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil || i.credential == nil {
		return dir, err
	}
	if err := os.Chown(dir, int(i.credential.Uid), int(i.credential.Gid)); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// removeLeftovers removes the clusters of processes that were killed. A folder that can't be removed is
// in nobody's way.
func removeLeftovers(parent string) {
	dirs, err := filepath.Glob(filepath.Join(parent, prefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), prefix), "-")
		pid, err := strconv.Atoi(owner)
		if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(dir)
		}
	}
}

func (i install) initdb(ctx context.Context, data string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(i.bin, "initdb"),
		"-D", data, "-U", superuser, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
	cmd.Dir = filepath.Dir(data)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: i.credential}
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, output)
	}
	return nil
}
