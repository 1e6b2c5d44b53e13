// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/net/netutil"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

// A sender that is slow on purpose holds one of maxConnections for readTimeout.
const (
	headerTimeout  = 5 * time.Second
	readTimeout    = 15 * time.Second
	writeTimeout   = 30 * time.Second
	idleTimeout    = time.Minute
	stopTimeout    = 5 * time.Second
	maxHeaderBytes = 16 << 10
	maxConnections = 1024
)

// Server serves pushes. It runs in every replica, whether it leads or not.
type Server struct {
	// Address to listen on, as host:port.
	Address string
	// CertDir holds tls.crt and tls.key, which are read again when they change. Without it the server speaks plain HTTP, for
	// where TLS ends in front of it.
	CertDir string
	Handler http.Handler
	Log     logr.Logger
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (s *Server) NeedLeaderElection() bool { return false }

// Start serves until ctx ends, and then lets what is under way come to its end.
func (s *Server) Start(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.Address)
	if err != nil {
		return fmt.Errorf("listening for push notifications at --push-bind-address: %w", err)
	}
	listener = netutil.LimitListener(listener, maxConnections)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	config, err := s.certificates(ctx)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	server := &http.Server{
		Handler: s.Handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes, TLSConfig: config,
		// What a stranger's connection breaks on is no news.
		ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(s.Log), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() {
		if config != nil {
			ended <- server.ServeTLS(listener, "", "")
			return
		}
		ended <- server.Serve(listener)
	}()
	s.Log.Info("taking push notifications", "address", listener.Addr().String(), "tls", config != nil)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	stopping, done := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer done()
	if server.Shutdown(stopping) != nil {
		return server.Close()
	}
	return nil
}

// certificates returns the TLS configuration, nil for plain HTTP.
func (s *Server) certificates(ctx context.Context) (*tls.Config, error) {
	if s.CertDir == "" {
		return nil, nil
	}
	watcher, err := certwatcher.New(filepath.Join(s.CertDir, "tls.crt"), filepath.Join(s.CertDir, "tls.key"))
	if err != nil {
		return nil, fmt.Errorf("reading tls.crt and tls.key in --push-cert-dir: %w", err)
	}
	go func() {
		if err := watcher.Start(ctx); err != nil {
			s.Log.Error(err, "a new certificate for push notifications will not be noticed before the next start")
		}
	}()
	return &tls.Config{GetCertificate: watcher.GetCertificate, MinVersion: tls.VersionTLS12}, nil
}
