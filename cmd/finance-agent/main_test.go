package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/finance/server"
)

// patience bounds every wait.
const patience = 20 * time.Second

// asAgent makes the test's own binary behave as the command, so that signals can be tested for real.
const asAgent = "FINANCE_AGENT_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asAgent) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestParse(t *testing.T) {
	o, err := parse(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(o.config, server.Defaults()) {
		t.Errorf("without flags: %+v", o.config)
	}
	o, err = parse(strings.Fields("--listen=127.0.0.1:8080 --dedup=false --history=false --lose-responses=1 --fail-after-accept=2 "+
		"--delay=3s --delay-response=4s --bearer-token=s3cret --reject-first-with=429:5 "+
		"--public-url=https://finance.example.com/ --retention=1h --approval=false --hang --list-lag=5s "+
		"--status-for=ListTasks:500:3 --status-for=GetTask:501:-1 --data-dir=/var/lib/finance --ledger-url=https://ledger.example.com --ledger-token=t0ken"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want := server.Config{
		Retention: time.Hour, Delay: 3 * time.Second, Token: "s3cret", PublicURL: "https://finance.example.com",
		DataDir: "/var/lib/finance", LedgerURL: "https://ledger.example.com", LedgerToken: "t0ken",
		Faults: server.Faults{LoseResponses: 1, FailAfterAccept: 2, DelayResponse: 4 * time.Second,
			Reject: server.Reject{Code: 429, N: 5, RetryAfter: time.Second}, Hang: true, ListLag: 5 * time.Second,
			Status: server.Statuses{{Method: "ListTasks", Code: 500, N: 3}, {Method: "GetTask", Code: 501, N: -1}}},
	}
	if !reflect.DeepEqual(o.config, want) || o.listen != "127.0.0.1:8080" {
		t.Errorf("got %+v, want %+v", o.config, want)
	}
	for _, args := range []string{
		"--lose-responses=-1", "--delay=-1s", "--retention=0s", "--reject-first-with=429", "--log-level=loud", "extra", "--no-such-flag",
		"--list-lag=-1s", "--status-for=GetTask:500", "--duplicate-tasks --dedup=false",
		"--ledger-token=t0ken", "--ledger-url=ledger.example.com", "--ledger-url=ftp://ledger.example.com",
	} {
		if _, err := parse(strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%s was accepted", args)
		}
	}
	if o, err := parse([]string{"--duplicate-tasks"}, io.Discard); err != nil || !o.config.Faults.DuplicateTasks || !o.config.Dedup {
		t.Errorf("--duplicate-tasks: %v", err)
	}
	if _, err := parse([]string{"-h"}, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("help: %v", err)
	}
}

func TestAddressInUse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "address")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- run(ctx, []string{"--address-file", file}, io.Discard) }()
	base := waitForFile(ctx, t, file)
	if err := run(ctx, []string{"--listen", strings.TrimPrefix(base, "http://")}, io.Discard); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("error %v, want the address in use", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

func waitForFile(ctx context.Context, t *testing.T, file string) string {
	t.Helper()
	for {
		if data, err := os.ReadFile(file); err == nil {
			return strings.TrimSpace(string(data))
		}
		if ctx.Err() != nil {
			t.Fatal("no address file")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// process runs the test's own binary as the command, and returns its address once it listens.
func process(ctx context.Context, t *testing.T, stderr io.Writer, args ...string) (cmd *exec.Cmd, base string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "address")
	cmd = exec.CommandContext(ctx, os.Args[0], append(args, "--address-file", file)...)
	cmd.Env = append(os.Environ(), asAgent+"=1")
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, waitForFile(ctx, t, file)
}

// terminate sends SIGTERM and wants an orderly end that waits for nothing.
func terminate(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	if took := time.Since(start); took >= drainTimeout {
		t.Errorf("the shutdown was held up for %v", took)
	}
}

func post(ctx context.Context, t *testing.T, url string) *http.Request {
	t.Helper()
	const send = `{"message":{"messageId":"m-71","role":"ROLE_USER","parts":[{"data":{"ledger":"","bank":""}}]}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(send))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// The process says where it listens, serves, and ends in order on SIGTERM, with a stream open.
func TestProcess(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var stderr bytes.Buffer
	cmd, base := process(ctx, t, &stderr, "--delay", "1h")
	req := post(ctx, t, base+server.RESTPath+"/message:stream")
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("stream: status %d", resp.StatusCode)
	}
	terminate(t, cmd)
	if got, want := stderr.String(), "listening on "+base+"\n"; got != want {
		t.Errorf("standard error is %q, want %q and nothing else", got, want)
	}
}

// A send that is never answered doesn't hold the end of the process up, and gets no answer then either.
func TestProcessThatHangs(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd, base := process(ctx, t, io.Discard, "--hang")
	done := make(chan error, 1)
	req := post(ctx, t, base+server.RESTPath+"/message:send")
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		done <- err
	}()
	for !received(ctx, t, base) {
		time.Sleep(5 * time.Millisecond)
	}
	terminate(t, cmd)
	if err := <-done; err == nil {
		t.Error("the send was answered")
	}
}

// received reports whether the agent's ledger holds a message.
func received(ctx context.Context, t *testing.T, base string) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+server.LedgerPath, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(body), "m-71")
}
