// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/delegation-dev/delegation-operator/internal/announce"
)

const (
	startTimeout = 20 * time.Second
	sendTimeout  = 30 * time.Second
)

// program is a process that serves.
type program struct {
	cmd *exec.Cmd
	url string
}

// start runs a program and waits until it says where it listens. What else it says is passed on.
func start(ctx context.Context, path string, args ...string) (*program, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt is for the measurement
	said, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: run make build", err)
	}
	listening := make(chan string, 1)
	go func() {
		defer close(listening)
		for lines := bufio.NewScanner(said); lines.Scan(); {
			if url, ok := strings.CutPrefix(lines.Text(), announce.Prefix); ok {
				listening <- url
			}
			fmt.Fprintln(os.Stderr, lines.Text())
		}
	}()
	p := &program{cmd: cmd}
	select {
	case url, ok := <-listening:
		if ok {
			p.url = url
			return p, nil
		}
	case <-time.After(startTimeout):
	}
	p.end()
	return nil, fmt.Errorf("%s does not listen", path)
}

func (p *program) end() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// cpuTime is what the process has used so far (proc_pid_stat(5): utime and stime, in hundredths of a second).
func (p *program) cpuTime() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // a program's name may have blanks
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

var client = &http.Client{Timeout: sendTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}}

// turn sends n new messages by so many clients at once.
func turn(ctx context.Context, url string, n, clients int) (sample, error) {
	var (
		group  sync.WaitGroup
		next   atomic.Int64
		failed atomic.Pointer[error]
		s      = sample{latencies: make([]time.Duration, n)}
	)
	start := time.Now()
	for range clients {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				begin := time.Now()
				if err := send(ctx, url); err != nil {
					failed.Store(&err)
					return
				}
				s.latencies[i] = time.Since(begin)
			}
		})
	}
	group.Wait()
	s.took = time.Since(start)
	if err := failed.Load(); err != nil {
		return s, *err
	}
	return s, nil
}

var errNoTask = errors.New("no task in the answer")

func send(ctx context.Context, url string) error {
	body := `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"configuration":{"returnImmediately":true},"message":{"messageId":"` +
		uuid.NewString() + `","role":"ROLE_USER","parts":[{"text":"Reconcile September 2026"}]}}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/a2a", strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err == nil && !bytes.Contains(data, []byte(`"task"`)) {
		err = fmt.Errorf("%w: HTTP %d %s", errNoTask, resp.StatusCode, data)
	}
	return err
}
