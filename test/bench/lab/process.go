// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lab has what the benchmarks of the operator share: processes whose CPU and memory are read, and the times of a
// busy machine.
package lab

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/delegation-dev/delegation-operator/internal/testenv"
)

// ticksPerSecond is Linux' USER_HZ, in which /proc counts time (proc_pid_stat(5)).
const ticksPerSecond = 100

// Process is a program that runs for a benchmark.
type Process struct {
	cmd    *exec.Cmd
	Output bytes.Buffer
}

// Stop ends the process. That it was killed is no error.
func (p *Process) Stop() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	_ = p.cmd.Wait() // it says "killed"
	return nil
}

// PID is the process' number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// StartManager runs the operator with flags, besides those that let it reach agents on loopback and leave its probes out.
// It writes its kubeconfig into dir.
func StartManager(ctx context.Context, config *rest.Config, dir string, flags ...string) (*Process, error) {
	root, err := testenv.Root()
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := writeKubeconfig(config, kubeconfig); err != nil {
		return nil, err
	}
	p := &Process{}
	p.cmd = exec.CommandContext(ctx, filepath.Join(root, "bin", "manager"),
		append([]string{"--kubeconfig", kubeconfig, "--health-probe-bind-address", "0", "--egress-allow=127.0.0.0/8"}, flags...)...)
	p.cmd.Stdout, p.cmd.Stderr = &p.Output, &p.Output
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: run `make build`", err)
	}
	return p, nil
}

func writeKubeconfig(config *rest.Config, path string) error {
	const name = "bench"
	out := clientcmdapi.NewConfig()
	out.CurrentContext = name
	out.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	out.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	out.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	return clientcmd.WriteToFile(*out, path)
}

// Agent is the agent's process and the way to it.
type Agent struct {
	*Process
	URL string
}

// StartAgent runs this program again, with args, as an agent, which writes its URL to standard output.
func StartAgent(ctx context.Context, args ...string) (*Agent, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	a := &Agent{Process: &Process{}}
	a.cmd = exec.CommandContext(ctx, self, args...)
	a.cmd.Stderr = &a.Output
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := a.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the agent does not say where it listens: %w: %s", errors.Join(err, a.Stop()), a.Output.String())
	}
	a.URL = strings.TrimSpace(line)
	return a, nil
}

// Ask has the agent do something n times, and reads its answer into a value.
func (a *Agent) Ask(ctx context.Context, path string, n int, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.URL+path+"?n="+strconv.Itoa(n), http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

// Usage is what a process has used: CPU time since it began, its resident memory now and the most that it had, in bytes.
type Usage struct {
	CPU          time.Duration
	Memory, Peak int64
}

// Used reads what the process has used from /proc.
func (p *Process) Used() (Usage, error) {
	u, err := UsedBy(p.PID())
	if err != nil {
		return Usage{}, fmt.Errorf("%w: %s", err, p.Output.String())
	}
	return u, nil
}

// UsedBy reads what a process has used from /proc.
func UsedBy(pid int) (Usage, error) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return Usage{}, err
	}
	// The name in parentheses may hold anything; utime and stime are fields 14 and 15.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return Usage{}, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	if err != nil {
		return Usage{}, err
	}
	memory, err := os.ReadFile(dir + "statm")
	if err != nil {
		return Usage{}, err
	}
	pages, err := strconv.ParseInt(strings.Fields(string(memory))[1], 10, 64)
	if err != nil {
		return Usage{}, err
	}
	peak, err := peakMemory(dir)
	if err != nil {
		return Usage{}, err
	}
	return Usage{time.Duration(user+system) * time.Second / ticksPerSecond, pages * int64(os.Getpagesize()), peak}, nil
}

// peakMemory is the line VmHWM of proc_pid_status(5), in bytes.
func peakMemory(dir string) (int64, error) {
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kilobytes, err := strconv.ParseInt(fields[1], 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, fmt.Errorf("%sstatus has no VmHWM: the process has ended", dir)
}
