// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

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

// process is a program that runs for the bench.
type process struct {
	cmd    *exec.Cmd
	output bytes.Buffer
}

// stop ends the process. That it was killed is no error.
func (p *process) stop() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	_ = p.cmd.Wait() // it says "killed"
	return nil
}

// startManager runs the operator in a namespace.
func startManager(ctx context.Context, config *rest.Config, dir string) (*process, error) {
	root, err := testenv.Root()
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := writeKubeconfig(config, kubeconfig); err != nil {
		return nil, err
	}
	p := &process{}
	p.cmd = exec.CommandContext(ctx, filepath.Join(root, "bin", "manager"),
		"--kubeconfig", kubeconfig, "--namespaces", namespace, "--health-probe-bind-address", "0", "--egress-allow=127.0.0.0/8")
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
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

// remoteAgent is the agent's process and the way to it.
type remoteAgent struct {
	*process
	url string
}

func startAgent(ctx context.Context) (*remoteAgent, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	a := &remoteAgent{process: &process{}}
	a.cmd = exec.CommandContext(ctx, self, agentCommand)
	a.cmd.Stderr = &a.output
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := a.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the agent does not say where it listens: %w: %s", errors.Join(err, a.stop()), a.output.String())
	}
	a.url = strings.TrimSpace(line)
	return a, nil
}

// ask has the agent do something n times.
func (a *remoteAgent) ask(ctx context.Context, path string, n int, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url+path+"?n="+strconv.Itoa(n), http.NoBody)
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

// usage is what a process has used.
type usage struct {
	cpu    time.Duration
	memory int64
}

// used reads what a process has used from /proc.
func (p *process) used() (usage, error) {
	dir := fmt.Sprintf("/proc/%d/", p.cmd.Process.Pid)
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return usage{}, fmt.Errorf("%w: %s", err, p.output.String())
	}
	// The name in parentheses may hold anything; utime and stime are fields 14 and 15.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return usage{}, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	if err != nil {
		return usage{}, err
	}
	memory, err := os.ReadFile(dir + "statm")
	if err != nil {
		return usage{}, err
	}
	pages, err := strconv.ParseInt(strings.Fields(string(memory))[1], 10, 64)
	if err != nil {
		return usage{}, err
	}
	return usage{time.Duration(user+system) * time.Second / ticksPerSecond, pages * int64(os.Getpagesize())}, nil
}
