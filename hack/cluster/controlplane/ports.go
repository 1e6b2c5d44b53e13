// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
)

const loopback = "127.0.0.1"

// ports are kept in the state directory, so that a kubeconfig still points to
// the right place after a restart.
type ports struct {
	Etcd      int `json:"etcd"`
	EtcdPeer  int `json:"etcdPeer"`
	APIServer int `json:"apiserver"`
}

func (p ports) etcdURL() string      { return url(p.Etcd) }
func (p ports) etcdPeerURL() string  { return url(p.EtcdPeer) }
func (p ports) apiServerURL() string { return url(p.APIServer) }

func url(port int) string { return "https://" + address(port) }

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

func (o Options) loadPorts() (ports, error) {
	var p ports
	data, err := os.ReadFile(o.file("ports.json"))
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(data, &p)
}

// choosePorts takes the ports of the last run where they are free, or any.
// Another process may take one before its owner listens: Up then tries again
// with fresh ones.
func (o Options) choosePorts(ctx context.Context, fresh bool) (ports, error) {
	p, err := o.loadPorts()
	if err != nil || fresh {
		p = ports{}
	}
	listeners := make([]net.Listener, 0, 3)
	defer func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	}()
	for _, port := range []*int{&p.Etcd, &p.EtcdPeer, &p.APIServer} {
		l, err := listen(ctx, *port)
		if err != nil {
			return p, fmt.Errorf("no free port on %s: %w", loopback, err)
		}
		// All stay open until every port is chosen, so that no two are the same.
		listeners = append(listeners, l)
		*port = l.Addr().(*net.TCPAddr).Port
	}
	data, err := json.Marshal(p)
	if err != nil {
		return p, err
	}
	return p, writeFile(o.file("ports.json"), data)
}

func listen(ctx context.Context, preferred int) (net.Listener, error) {
	var config net.ListenConfig
	if preferred != 0 {
		if l, err := config.Listen(ctx, "tcp", address(preferred)); err == nil {
			return l, nil
		}
	}
	return config.Listen(ctx, "tcp", address(0))
}
