// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/internal/testenv"
	"github.com/delegation-dev/delegation-operator/test/bench/lab"
)

// plane is a control plane of the bench's own, whose etcd syncs each write.
type plane struct {
	config *rest.Config
	client client.WithWatch
	etcd   lab.Etcd
	// url is etcd's.
	url *url.URL
	// apiServerPID and etcdPID are children of this process.
	apiServerPID, etcdPID int
	// data is the directory in which etcd has its data, and dir one for the bench's files.
	data, dir string
	stop      func() error
}

func startPlane(ctx context.Context) (p *plane, err error) {
	p = &plane{}
	if p.config, p.url, p.stop, err = testenv.StartDurable(); err != nil {
		return nil, fmt.Errorf("starting the control plane: %w", err)
	}
	if err := p.connect(ctx); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *plane) connect(ctx context.Context) (err error) {
	if p.client, err = lab.NewClient(p.config); err != nil {
		return err
	}
	if p.etcd, err = lab.Connect(ctx, p.url); err != nil {
		return err
	}
	if p.dir, err = os.MkdirTemp("", "bench-throughput-"); err != nil {
		return err
	}
	if p.apiServerPID, _, err = child("kube-apiserver"); err != nil {
		return err
	}
	pid, args, err := child("etcd")
	if err != nil {
		return err
	}
	p.etcdPID = pid
	for _, arg := range args {
		if dir, ok := strings.CutPrefix(arg, "--data-dir="); ok {
			p.data = dir
			return nil
		}
	}
	return fmt.Errorf("etcd has no --data-dir in its command line: %q", args)
}

func (p *plane) close() error {
	var err error
	if p.etcd.Client != nil {
		err = p.etcd.Close()
	}
	if p.dir != "" {
		err = errors.Join(err, os.RemoveAll(p.dir))
	}
	return errors.Join(err, p.stop())
}

// child returns the PID and the command line of the child process that was started by a name.
func child(name string) (pid int, args []string, err error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, nil, err
	}
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it ended since
		}
		// The name in parentheses may hold anything; the parent is the second field behind it.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if fields[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		line, err := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if err != nil {
			continue
		}
		args := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
		if filepath.Base(args[0]) == name {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			return pid, args, err
		}
	}
	return 0, nil, fmt.Errorf("no child process is called %s", name)
}

// tally is what etcd says of what was written.
type tally struct {
	// revision counts all writes to all keys.
	revision int64
	// objects are the Delegations of a namespace, and delegations the writes to these, with those that created them.
	objects     int
	delegations int64
	// events and configMaps are the writes to the namespace's.
	events, configMaps int64
}

// count reads etcd. It counts each write to a key in the key's version, from the one that made it; what wrote nothing,
// such as a conflict, does not count, and nothing that did is missed.
func (p *plane) count(ctx context.Context, namespace string) (tally, error) {
	var t tally
	for prefix, into := range map[string]*int64{
		lab.DelegationKeys: &t.delegations, lab.EventKeys: &t.events, lab.ConfigMapKeys: &t.configMaps,
	} {
		got, err := p.etcd.Get(ctx, prefix+namespace+"/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
		if err != nil {
			return tally{}, fmt.Errorf("reading %s%s at etcd: %w", prefix, namespace, err)
		}
		for _, kv := range got.Kvs {
			*into += kv.Version
		}
		if prefix == lab.DelegationKeys {
			t.objects = len(got.Kvs)
		}
		t.revision = max(t.revision, got.Header.Revision)
	}
	return t, nil
}

// cpu is what the processes have used that take part.
type cpu struct{ manager, apiServer, etcd, agent, bench time.Duration }

func (p *plane) used(manager *lab.Process, agent *lab.Agent) (cpu, error) {
	var out cpu
	for pid, into := range map[int]*time.Duration{
		manager.PID(): &out.manager, p.apiServerPID: &out.apiServer, p.etcdPID: &out.etcd, agent.PID(): &out.agent, os.Getpid(): &out.bench,
	} {
		u, err := lab.UsedBy(pid)
		if err != nil {
			return cpu{}, err
		}
		*into = u.CPU
	}
	return out, nil
}

func (c cpu) since(earlier cpu) cpu {
	return cpu{
		manager: c.manager - earlier.manager, apiServer: c.apiServer - earlier.apiServer, etcd: c.etcd - earlier.etcd,
		agent: c.agent - earlier.agent, bench: c.bench - earlier.bench,
	}
}

func createNamespace(ctx context.Context, c client.Client, name string) error {
	return c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}
