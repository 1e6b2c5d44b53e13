// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/delegation-dev/delegation-operator/internal/tracing"
)

// tracingOptions say who is told of what is done; the zero value tells nobody.
type tracingOptions struct{ tracing.Config }

func (o *tracingOptions) bind(f *flag.FlagSet) {
	f.StringVar(&o.Endpoint, "tracing-endpoint", "", "URL of an OpenTelemetry collector, such as http://collector:4317, which gets the traces of Delegations; no traces when empty. "+
		"Headers and certificates are those of the variables OTEL_EXPORTER_OTLP_*.")
	f.StringVar(&o.Protocol, "tracing-protocol", tracing.ProtocolGRPC, "Protocol to --tracing-endpoint: grpc or http/protobuf.")
	f.Float64Var(&o.Ratio, "tracing-sampling-ratio", 1, "Share of Delegations whose traces are kept, from 0 to 1, where their creators don't say it by their annotation.")
}

func (o *tracingOptions) tracer(self string) (*tracing.Tracer, error) {
	config := o.Config
	config.Instance = self
	return tracing.New(context.Background(), config, ctrl.Log.WithName("tracing"))
}
