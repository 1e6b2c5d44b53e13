// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"
	"crypto/rand"
	"crypto/sha256"

	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// identity are the ids that follow from a Delegation's UID. They are a hash of it: a UID has fixed bits, and samplers take
// the ids of traces for random.
func identity(d *v1alpha1.Delegation) (trace.TraceID, trace.SpanID) {
	sum := sha256.Sum256([]byte(d.UID))
	return trace.TraceID(sum[:16]), trace.SpanID(sum[16:24])
}

// creator is the context that whoever created the Delegation put into its annotation, as a traceparent of the W3C; not valid
// without one, or where it can't be read.
func creator(d *v1alpha1.Delegation) trace.SpanContext {
	carrier := propagation.MapCarrier{"traceparent": d.Annotations[v1alpha1.TraceparentAnnotation]}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}

// ids makes the ids of spans: those that the context asks for, and random ones else.
type ids struct{}

type wanted struct {
	trace trace.TraceID
	span  trace.SpanID
}

type wantedKey struct{}

// NewIDs implements sdktrace.IDGenerator.
func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if w, ok := ctx.Value(wantedKey{}).(wanted); ok {
		return w.trace, w.span
	}
	var id trace.TraceID
	_, _ = rand.Read(id[:]) // it never fails
	return id, ids{}.NewSpanID(ctx, id)
}

// NewSpanID implements sdktrace.IDGenerator.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	if w, ok := ctx.Value(wantedKey{}).(wanted); ok {
		return w.span
	}
	var id trace.SpanID
	_, _ = rand.Read(id[:]) // it never fails
	return id
}

var _ sdktrace.IDGenerator = ids{}
