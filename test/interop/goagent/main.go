// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command goagent is an agent on the Go SDK for A2A 1.0, over JSON-RPC, HTTP+JSON and gRPC, that does what its messages say.
// The SDK's server does not deduplicate.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/push"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
	"google.golang.org/grpc"
)

const headerTimeout = 10 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on, for JSON-RPC and HTTP+JSON; gRPC takes any port of the same host")
	addressFile := flag.String("address-file", "", "file that the base URL is written to")
	flag.Parse()
	if err := run(ctx, *listen, *addressFile); err != nil {
		fmt.Fprintln(os.Stderr, "goagent:", err)
		os.Exit(1)
	}
}

// run serves until ctx is done.
func run(ctx context.Context, listen, addressFile string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("--listen must be host:port, such as 127.0.0.1:0: %w", err)
	}
	var config net.ListenConfig
	web, err := config.Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	calls, err := config.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return errors.Join(err, web.Close())
	}
	ledger := newLedger()
	gates := newGates()
	handler := newHandler(&executor{ledger, gates})
	url := "http://" + web.Addr().String()
	httpServer := &http.Server{Handler: routes(handler, ledger, gates, card(url, "http://"+calls.Addr().String())), ReadHeaderTimeout: headerTimeout}
	grpcServer := grpc.NewServer()
	a2agrpc.NewHandler(handler).RegisterWith(grpcServer)
	if err := announce(url, addressFile); err != nil {
		return errors.Join(err, web.Close(), calls.Close())
	}
	failed := make(chan error, 2)
	go func() { failed <- httpServer.Serve(web) }()
	go func() { failed <- grpcServer.Serve(calls) }()
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	grpcServer.Stop()
	return errors.Join(err, httpServer.Close())
}

// newHandler is the SDK's own, with two things that it needs: without an authenticator its task store lists nothing to
// callers who are not authenticated, and without leave its sender pushes into no private network.
func newHandler(e *executor) a2asrv.RequestHandler {
	anyone := func(context.Context) (string, error) { return "anyone", nil }
	return a2asrv.NewHandler(e,
		a2asrv.WithTaskStore(taskstore.NewInMemory(&taskstore.InMemoryStoreConfig{Authenticator: anyone})),
		a2asrv.WithPushNotifications(push.NewInMemoryStore(), push.NewHTTPPushSender(&push.HTTPSenderConfig{AllowPrivateNetworks: true})),
		a2asrv.WithCallInterceptors(e.ledger))
}

func routes(handler a2asrv.RequestHandler, ledger *ledger, gates *gates, card *a2a.AgentCard) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/a2a", a2asrv.NewJSONRPCHandler(handler))
	mux.Handle("/rest/", http.StripPrefix("/rest", a2asrv.NewRESTHandler(handler)))
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	mux.Handle("GET /admin/ledger", ledger)
	mux.Handle("POST /admin/release/{task}", gates)
	return mux
}

func card(url, grpcURL string) *a2a.AgentCard {
	return &a2a.AgentCard{
		Name: "Interop agent (Go)", Description: "Does what its messages say.", Version: "1.0.0",
		SupportedInterfaces: []*a2a.AgentInterface{
			a2a.NewAgentInterface(url+"/a2a", a2a.TransportProtocolJSONRPC),
			a2a.NewAgentInterface(url+"/rest", a2a.TransportProtocolHTTPJSON),
			a2a.NewAgentInterface(grpcURL, a2a.TransportProtocolGRPC),
		},
		Capabilities:      a2a.AgentCapabilities{Streaming: true, PushNotifications: true},
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Skills: []a2a.AgentSkill{{ID: "do", Name: "Do", Description: "Does as told.", Tags: []string{"test"}}},
	}
}

// announce writes the file complete or not at all, so that nobody reads half of it.
func announce(url, file string) error {
	if file != "" {
		if err := os.WriteFile(file+".new", []byte(url+"\n"), 0o600); err != nil {
			return err
		}
		if err := os.Rename(file+".new", file); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(os.Stderr, "listening on %s\n", url)
	return err
}
