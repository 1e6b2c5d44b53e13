// Command finance-agent is an A2A 1.0 agent that reconciles a month's ledger with the bank statement. It
// is the agent of the demonstration and of the tests, and so can be told to misbehave.
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
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/announce"
	"github.com/delegation-dev/delegation-operator/internal/finance/server"
)

const (
	// headerTimeout keeps idle connections from piling up before they have said anything.
	headerTimeout = 10 * time.Second
	// drainTimeout is how long a shutdown waits for answers under way.
	drainTimeout = 5 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "finance-agent:", err)
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
	o.config.Logger = logger
	o.config.Stopping = ctx.Done()

	agent, err := server.New(ctx, o.config)
	if err != nil {
		return err
	}
	return errors.Join(listen(ctx, o, agent, stderr), agent.Close())
}

// listen announces the address and serves until ctx is done.
func listen(ctx context.Context, o *options, handler http.Handler, stderr io.Writer) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String()
	if err := announce.URL(url, o.addressFile, stderr); err != nil {
		return errors.Join(err, listener.Close())
	}
	return serve(ctx, listener, handler)
}

func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	srv := &http.Server{
		Handler:           endStreams(ctx, handler),
		ReadHeaderTimeout: headerTimeout,
		ErrorLog:          slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	slog.Info("shutting down")
	drain, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	if err := srv.Shutdown(drain); err != nil {
		slog.Warn("answers cut off", "cause", err)
		return srv.Close()
	}
	return nil
}

// endStreams ends open streams when the shutdown begins: they live as long as their tasks, and nobody can
// wait for those.
func endStreams(shutdown context.Context, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
			ctx, end := context.WithCancel(r.Context())
			defer end()
			stop := context.AfterFunc(shutdown, end)
			defer stop()
			r = r.WithContext(ctx)
		}
		next.ServeHTTP(w, r)
	})
}
