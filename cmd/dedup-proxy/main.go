// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command dedup-proxy is a reverse proxy that makes an A2A 1.0 agent safe to retry: a message that comes again returns
// what the first copy made.
//
// It announces its address on standard error, in one line: listening on http://127.0.0.1:41234.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/delegation-dev/delegation-operator/internal/announce"
	"github.com/delegation-dev/delegation-operator/internal/dedup"
	"github.com/delegation-dev/delegation-operator/internal/dedupproxy"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "dedup-proxy:", err)
		os.Exit(1)
	}
}

// run serves until ctx is done. It returns nil after an orderly shutdown.
func run(ctx context.Context, args []string, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: o.logLevel}))
	slog.SetDefault(logger)
	store, err := open(ctx, o)
	if err != nil {
		return err
	}
	return errors.Join(serveWith(ctx, o, logger, store, stderr), store.Close())
}

func serveWith(ctx context.Context, o *options, logger *slog.Logger, store table, stderr io.Writer) error {
	upstream, err := transport(o)
	if err != nil {
		return err
	}
	principals, err := o.principal.build(ctx, o)
	if err != nil {
		return err
	}
	cfg := o.proxy
	cfg.Transport, cfg.Principals, cfg.Logger, cfg.Metrics = upstream, principals, logger, dedupproxy.NewMetrics()
	cfg.Table = dedup.NewTable(store, dedup.WithRetention(cfg.Retention), dedup.WithLease(o.lease), dedup.WithLogger(logger))
	proxy, err := dedupproxy.New(cfg)
	if err != nil {
		return err
	}
	s, err := listen(ctx, o, proxy, store)
	if err != nil {
		return err
	}
	if err := announce.URL(s.url(), o.addressFile, stderr); err != nil {
		return errors.Join(err, s.close())
	}
	go cfg.Table.Sweep(ctx, 0)
	return s.serve(ctx)
}
