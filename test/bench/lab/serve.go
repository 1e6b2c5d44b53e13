// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// Serve runs an agent on loopback until ctx ends, and writes its URL to standard output; see StartAgent.
func Serve(ctx context.Context, handler http.Handler) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() {
		<-ctx.Done()
		_ = s.Close() // what is under way is of no interest any more
	}()
	if _, err := fmt.Fprintf(os.Stdout, "http://%s\n", l.Addr()); err != nil {
		return err
	}
	if err := s.Serve(l); ctx.Err() == nil {
		return err
	}
	return nil
}

// Answer writes a value as JSON.
func Answer(w http.ResponseWriter, out any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out) // the caller may be gone
}
