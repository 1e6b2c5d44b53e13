// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/testenv"
)

func testOptions(t *testing.T) Options {
	t.Helper()
	o, err := Options{StateDir: filepath.Join(t.TempDir(), "cluster"), Out: t.Output()}.complete()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(o.StateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	return o
}

// startSleep runs a process that ends only when it is stopped.
func startSleep(t *testing.T, o Options) *process {
	t.Helper()
	p, err := o.start(component{name: etcdName, path: "/bin/sleep", args: []string{"60"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.handle.Kill() })
	return p
}

func TestStopEndsTheRecordedProcess(t *testing.T) {
	o := testOptions(t)
	started := startSleep(t, o)
	found, err := o.find(etcdName)
	if err != nil || found == nil || found.handle.Pid != started.handle.Pid {
		t.Fatalf("find = %+v, %v; want pid %d", found, err, started.handle.Pid)
	}
	if err := o.stopAll(); err != nil {
		t.Fatal(err)
	}
	if started.alive() {
		t.Error("the process still runs")
	}
	if found, err := o.find(etcdName); found != nil || err != nil {
		t.Errorf("find after the stop = %+v, %v; want nothing", found, err)
	}
}

func TestStopLeavesAProcessWithAReusedPIDAlone(t *testing.T) {
	o := testOptions(t)
	other := startSleep(t, o)
	data, err := json.Marshal(pidRecord{PID: other.handle.Pid, Identity: "a process that had this pid before"})
	if err != nil {
		t.Fatal(err)
	}
	if err := writeFile(o.pidFile(etcdName), data); err != nil {
		t.Fatal(err)
	}
	if err := o.stopAll(); err != nil {
		t.Fatal(err)
	}
	if !other.alive() {
		t.Error("a process that was not started here was stopped")
	}
}

func TestDamagedPIDFileIsNoProcess(t *testing.T) {
	o := testOptions(t)
	for _, content := range []string{"", "{", `{"pid":0}`, `{"pid":-1}`} {
		if err := writeFile(o.pidFile(etcdName), []byte(content)); err != nil {
			t.Fatal(err)
		}
		if p, err := o.find(etcdName); p != nil || err != nil {
			t.Errorf("find with the pid file %q = %+v, %v; want nothing", content, p, err)
		}
	}
}

func TestCertificatesAreSignedByTheirCAAndTheCAsAreKept(t *testing.T) {
	o := testOptions(t)
	if err := o.ensurePKI(); err != nil {
		t.Fatal(err)
	}
	kept := map[string][]byte{}
	for _, file := range []string{"ca.crt", "etcd-ca.crt", "service-account.key"} {
		kept[file] = read(t, o.pki(file))
	}
	if err := o.ensurePKI(); err != nil {
		t.Fatal(err)
	}
	for file, before := range kept {
		if !bytes.Equal(before, read(t, o.pki(file))) {
			t.Errorf("%s was replaced: what it signed is void", file)
		}
	}
	for _, l := range leaves {
		der, err := readPEM(o.pki(l.file + ".crt"))
		if err != nil {
			t.Fatal(err)
		}
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		for _, ca := range []string{clusterCA, etcdCA} {
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM(read(t, o.pki(ca+".crt")))
			_, err := cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
			if (err == nil) != (ca == l.ca) {
				t.Errorf("%s verified by %s: %v", l.file, ca, err)
			}
		}
		if got := cert.VerifyHostname(loopback) == nil; got != l.serving {
			t.Errorf("%s serves on %s: %v, want %v", l.file, loopback, got, l.serving)
		}
	}
}

func TestPortsAreKeptWhileFree(t *testing.T) {
	o := testOptions(t)
	first, err := o.choosePorts(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if first.Etcd == first.EtcdPeer || first.Etcd == first.APIServer || first.EtcdPeer == first.APIServer {
		t.Fatalf("ports are not distinct: %+v", first)
	}
	var config net.ListenConfig
	taken, err := config.Listen(t.Context(), "tcp", address(first.Etcd))
	if err != nil {
		t.Skipf("another process took the port meanwhile: %v", err)
	}
	defer func() { _ = taken.Close() }()
	second, err := o.choosePorts(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if second.Etcd == first.Etcd {
		t.Error("a taken port was chosen")
	}
}

func TestRequiredNamesTheCommandThatHelps(t *testing.T) {
	o := testOptions(t)
	o.Assets = t.TempDir()
	if _, err := o.required(); err == nil || !strings.Contains(err.Error(), "make localcluster") {
		t.Errorf("required = %v; want a hint at make localcluster", err)
	}
	for _, name := range []string{etcdName, apiServerName} {
		if err := os.WriteFile(filepath.Join(o.Assets, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	names, err := o.required()
	if err != nil || len(names) != 2 {
		t.Errorf("required without a controller manager = %v, %v; want the other two", names, err)
	}
}

func TestFailedStartShowsTheLogAndLeavesNothing(t *testing.T) {
	opts := testOptions(t)
	opts.Assets = t.TempDir()
	for _, name := range []string{etcdName, apiServerName} {
		script := "#!/bin/sh\necho the disk is on fire\nexit 1\n"
		if err := os.WriteFile(filepath.Join(opts.Assets, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	err := Up(t.Context(), opts)
	if err == nil || !strings.Contains(err.Error(), "the disk is on fire") {
		t.Errorf("Up = %v; want the last lines of the log", err)
	}
	if running, err := opts.running(); len(running) != 0 || err != nil {
		t.Errorf("still running: %v, %v", running, err)
	}
}

// TestUpRepairsAndDownLeavesNothing drives the real servers.
func TestUpRepairsAndDownLeavesNothing(t *testing.T) {
	opts := testOptions(t)
	opts.Assets = testenv.Assets(t)
	opts.UnsafeNoFsync = true
	opts.ExitWithCaller = true
	t.Cleanup(func() {
		// The test's own context is done by now.
		if err := Down(context.Background(), opts); err != nil {
			t.Error(err)
		}
	})
	up := func() (ports, []*process) {
		t.Helper()
		if err := Up(t.Context(), opts); err != nil {
			t.Fatal(err)
		}
		p, err := opts.loadPorts()
		if err != nil {
			t.Fatal(err)
		}
		running, err := opts.running()
		if err != nil {
			t.Fatal(err)
		}
		return p, running
	}
	p, before := up()
	createNamespace(t, opts, p, "kept")

	_, again := up()
	if len(again) != len(before) || again[0].handle.Pid != before[0].handle.Pid {
		t.Error("a second Up restarted what ran")
	}

	victim := before[1]
	if err := victim.handle.Signal(syscall.SIGKILL); err != nil || !victim.gone(10*time.Second) {
		t.Fatalf("killing %s: %v", victim.name, err)
	}
	p, repaired := up()
	if len(repaired) != len(before) || repaired[0].handle.Pid == before[0].handle.Pid {
		t.Error("Up did not restart the control plane of which a part had ended")
	}
	kept := endpoint{p.apiServerURL() + "/api/v1/namespaces/kept", clusterCA, adminClient}
	if !opts.answers(t.Context(), kept) {
		t.Error("the restart lost the data")
	}

	if err := Down(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	for _, p := range repaired {
		if p.alive() {
			t.Errorf("%s still runs after Down", p.name)
		}
	}
	if _, err := os.Stat(opts.StateDir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the state directory is still there: %v", err)
	}
}

func createNamespace(t *testing.T, o Options, p ports, name string) {
	t.Helper()
	client, err := o.httpClient(endpoint{ca: clusterCA, client: adminClient})
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	body := `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + name + `"}}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.apiServerURL()+"/api/v1/namespaces", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusCreated {
		t.Fatalf("creating a namespace: %s", response.Status)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
