// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const (
	// batchTimeout is how long a span waits for others to go with it: what is in memory is lost in a crash.
	batchTimeout = time.Second
	// ShutdownTimeout is how long a manager that stops tries to hand over what it has.
	ShutdownTimeout = 5 * time.Second
)

// The protocols to the collector, as OTEL_EXPORTER_OTLP_PROTOCOL names them.
const (
	ProtocolGRPC = "grpc"
	ProtocolHTTP = "http/protobuf"
)

// ErrConfig says that the options for tracing make no sense.
var ErrConfig = errors.New("tracing can't be set up as it is asked for")

// Config says where spans go.
type Config struct {
	// Endpoint is the collector's URL; no spans are made where it is empty. With http they are sent in the clear.
	Endpoint string
	// Protocol is one of the two.
	Protocol string
	// Ratio is the share of traces that are kept, from 0 to 1.
	Ratio float64
	// Instance names this process.
	Instance string
}

// New returns a Tracer that sends to a collector, and nil where none is to. It makes no connection, and one that can't be
// made holds nothing up. Headers, certificates and timeouts are those of the variables OTEL_EXPORTER_OTLP_*, and the resource
// has what OTEL_RESOURCE_ATTRIBUTES says. The error wraps ErrConfig.
func New(ctx context.Context, c Config, log logr.Logger) (*Tracer, error) {
	if c.Endpoint == "" {
		return nil, nil
	}
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "delegation-operator"), attribute.String("service.instance.id", c.Instance)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("%w: OTEL_RESOURCE_ATTRIBUTES: %w", ErrConfig, err)
	}
	// A collector that is away is no error of the operator, and would be one a second.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.V(1).Info("traces", "error", err.Error()) }))
	return newTracer(c.Ratio, sdktrace.WithResource(about), sdktrace.WithBatcher(exporter, sdktrace.WithBatchTimeout(batchTimeout))), nil
}

// client checks the configuration.
func (c Config) client() (otlptrace.Client, error) {
	u, err := url.Parse(c.Endpoint)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%w: the endpoint has to be a URL such as http://collector:4317", ErrConfig)
	case u.User != nil:
		return nil, fmt.Errorf("%w: the endpoint holds credentials; put them into OTEL_EXPORTER_OTLP_HEADERS", ErrConfig)
	case !(c.Ratio >= 0 && c.Ratio <= 1): // NaN too
		return nil, fmt.Errorf("%w: %v is no share of traces, from 0 to 1", ErrConfig, c.Ratio)
	}
	switch c.Protocol {
	case ProtocolGRPC:
		return otlptracegrpc.NewClient(otlptracegrpc.WithEndpointURL(c.Endpoint)), nil
	case ProtocolHTTP:
		if u.Path == "" || u.Path == "/" {
			u.Path = "/v1/traces"
		}
		return otlptracehttp.NewClient(otlptracehttp.WithEndpointURL(u.String())), nil
	default:
		return nil, fmt.Errorf("%w: protocol %q is none of %s and %s", ErrConfig, c.Protocol, ProtocolGRPC, ProtocolHTTP)
	}
}

// Shutdown hands over what is left when the manager stops. What the collector does not take within a few seconds is lost.
func (t *Tracer) Shutdown(ctx context.Context) error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, ShutdownTimeout)
	defer cancel()
	return t.provider.Shutdown(ctx)
}
