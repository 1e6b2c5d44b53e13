package main

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"

	"github.com/delegation-dev/delegation-operator/internal/finance/server"
)

// options are what the command line says.
type options struct {
	listen      string
	addressFile string
	logLevel    slog.Level
	config      server.Config
}

// parse reads the command line. It returns flag.ErrHelp when help was asked for and written to stderr.
func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{config: server.Defaults(), logLevel: slog.LevelWarn}
	c, f := &o.config, &o.config.Faults
	flags := flag.NewFlagSet("finance-agent", flag.ContinueOnError)
	flags.SetOutput(stderr)

	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "address to listen on; port 0 takes any free one")
	flags.StringVar(&o.addressFile, "address-file", "", "file to write the URL listened on to")
	flags.StringVar(&c.PublicURL, "public-url", "", "base URL in the agent card; the host the card was asked from where empty")
	flags.TextVar(&o.logLevel, "log-level", o.logLevel, "lowest level logged: debug, info, warn or error")

	flags.StringVar(&c.DataDir, "data-dir", "", "directory for tasks, their steps, received messages and the ledger, which outlive the process there; all in memory where empty")
	flags.StringVar(&c.LedgerURL, "ledger-url", "", "base URL of the ledger to post to, which serves /ledger/postings; the agent's own where empty")
	flags.StringVar(&c.LedgerToken, "ledger-token", "", "bearer token for the ledger at --ledger-url")

	flags.BoolVar(&c.Dedup, "dedup", c.Dedup, "return the first copy's task for a repeated message")
	flags.DurationVar(&c.Retention, "retention", c.Retention, "how long a message is remembered with --dedup")
	flags.BoolVar(&c.History, "history", c.History, "show the messages of a task in answers")
	flags.BoolVar(&c.Approval, "approval", c.Approval, "ask for approval of unusual adjustments; they are only reported otherwise")
	flags.DurationVar(&c.Delay, "delay", 0, "time from a message to the end of what it starts, or to the agent's question")
	flags.BoolVar(&c.Push, "push", false, "send push notifications to whoever asks for them, also at private addresses")
	flags.StringVar(&c.Token, "bearer-token", "", "token that callers need; anybody may call where empty")

	flags.IntVar(&f.LoseResponses, "lose-responses", 0, "number of SendMessage responses to lose, with the task made")
	flags.IntVar(&f.FailAfterAccept, "fail-after-accept", 0, "number of SendMessage calls to answer with 503, with the task made")
	flags.DurationVar(&f.DelayResponse, "delay-response", 0, "how long to hold back each SendMessage response")
	flags.Var(&f.Reject, "reject-first-with", "HTTP status for the first sends, before they are accepted: CODE:N or CODE:N:RETRY_AFTER_SECONDS")
	flags.Var(&f.Status, "status-for", "HTTP status for the first calls of a method, or with -1 for all: METHOD:CODE:N, such as ListTasks:500:3; may be repeated")
	flags.BoolVar(&f.Hang, "hang", false, "never answer a send")
	flags.BoolVar(&f.DuplicateTasks, "duplicate-tasks", false, "promise deduplication in the card and don't keep the promise")
	flags.DurationVar(&f.ListLag, "list-lag", 0, "how long a new task is missing in ListTasks")

	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if min(f.LoseResponses, f.FailAfterAccept) < 0 || min(f.DelayResponse, f.ListLag, c.Delay) < 0 || c.Retention <= 0 {
		return nil, fmt.Errorf("a number or a time is negative, or the retention zero")
	}
	if f.DuplicateTasks && !c.Dedup {
		return nil, fmt.Errorf("--duplicate-tasks breaks a promise that --dedup=false doesn't make")
	}
	if err := checkLedger(c); err != nil {
		return nil, err
	}
	c.PublicURL = strings.TrimSuffix(c.PublicURL, "/")
	return o, nil
}

func checkLedger(c *server.Config) error {
	if c.LedgerURL == "" {
		if c.LedgerToken != "" {
			return fmt.Errorf("--ledger-token is for --ledger-url: give both or neither")
		}
		return nil
	}
	if u, err := url.Parse(c.LedgerURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("--ledger-url %q is not a base URL: want http://HOST:PORT or https://HOST", c.LedgerURL)
	}
	return nil
}
