// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// maxDescription bounds what an agent's words add to a span, in bytes.
const maxDescription = 256

// Tracer makes spans. A nil Tracer makes none, and puts nothing into a context.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	sampler  sdktrace.Sampler
}

// newTracer returns one that hands its spans to a processor. The ratio is the share of traces that are kept, of those whose
// creator did not say.
func newTracer(ratio float64, options ...sdktrace.TracerProviderOption) *Tracer {
	sampler := sdktrace.TraceIDRatioBased(ratio)
	provider := sdktrace.NewTracerProvider(append(options, sdktrace.WithIDGenerator(ids{}), sdktrace.WithSampler(sdktrace.ParentBased(sampler)))...)
	return &Tracer{provider: provider, tracer: provider.Tracer("delegation-operator"), sampler: sampler}
}

// Call begins the span of a call to the agent, whose context is for the call, and returns what ends it. The attempt is that
// of a message, and zero for another call.
func (t *Tracer) Call(ctx context.Context, d *v1alpha1.Delegation, call outbox.Call, attempt int32) (context.Context, func(outbox.Exchange)) {
	if t == nil {
		return ctx, func(outbox.Exchange) {}
	}
	ctx, span := t.tracer.Start(trace.ContextWithRemoteSpanContext(ctx, t.first(d)), string(call),
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes(d)...))
	if attempt > 0 {
		span.SetAttributes(attribute.Int("a2a.attempt", int(attempt)))
	}
	return ctx, func(ex outbox.Exchange) {
		span.SetAttributes(attribute.String("a2a.outcome", string(ex.Outcome)))
		if ex.Reason != "" {
			span.SetAttributes(attribute.String("a2a.reason", ex.Reason))
		}
		if ex.Task != nil {
			span.SetAttributes(attribute.String("a2a.task.id", ex.Task.ID), attribute.String("a2a.task.state", string(ex.Task.State)))
		}
		if ex.Outcome != outbox.Accepted && ex.Outcome != outbox.Absent {
			span.SetStatus(codes.Error, cut(ex.Detail))
		}
		span.End()
	}
}

// Changed tells of what a status write changed, after it was made: how long the task was followed, and the whole Delegation
// once nothing more is to come. Each is told once, by the process that made the write.
func (t *Tracer) Changed(d *v1alpha1.Delegation, c outbox.Changes, now time.Time) {
	if t == nil || !c.Finished {
		return
	}
	more := append(attributes(d), attribute.String("delegation.phase", string(d.Status.Phase)), attribute.Int("a2a.attempts", int(d.Status.Attempts)))
	if by := d.Status.RecoveredBy; by != "" {
		more = append(more, attribute.String("delegation.recovered_by", string(by)))
	}
	since := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionDelivered)
	if since != nil && since.Status == "True" && d.Status.TaskID != "" {
		ctx := trace.ContextWithRemoteSpanContext(context.Background(), t.first(d))
		_, span := t.tracer.Start(ctx, "follow", trace.WithTimestamp(since.LastTransitionTime.Time), trace.WithAttributes(more...))
		span.End(trace.WithTimestamp(now))
	}
	id, first := identity(d)
	ctx := context.WithValue(context.Background(), wantedKey{}, wanted{id, first})
	if parent := creator(d); parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
	}
	_, span := t.tracer.Start(ctx, "delegation", trace.WithTimestamp(d.CreationTimestamp.Time), trace.WithAttributes(more...))
	if d.Status.Phase != v1alpha1.PhaseCompleted {
		span.SetStatus(codes.Error, string(d.Status.Phase))
	}
	span.End(trace.WithTimestamp(now))
}

// first is the context of a Delegation's first span, which is told of last: in the trace of its creator where that named
// one, and kept if that one's is.
func (t *Tracer) first(d *v1alpha1.Delegation) trace.SpanContext {
	id, span := identity(d)
	if parent := creator(d); parent.IsValid() {
		return trace.NewSpanContext(trace.SpanContextConfig{TraceID: parent.TraceID(), SpanID: span, TraceFlags: parent.TraceFlags(), Remote: true})
	}
	var flags trace.TraceFlags
	decided := t.sampler.ShouldSample(sdktrace.SamplingParameters{TraceID: id})
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: id, SpanID: span, TraceFlags: flags.WithSampled(decided.Decision == sdktrace.RecordAndSample), Remote: true,
	})
}

// cut bounds a text without breaking a character.
func cut(s string) string {
	if len(s) <= maxDescription {
		return s
	}
	return strings.ToValidUTF8(s[:maxDescription], "")
}

// attributes name a Delegation. No content of a message is in a span, and no header.
func attributes(d *v1alpha1.Delegation) []attribute.KeyValue {
	agent := d.AgentKey()
	list := []attribute.KeyValue{
		attribute.String("k8s.namespace.name", d.Namespace), attribute.String("delegation.name", d.Name), attribute.String("delegation.uid", string(d.UID)),
		attribute.String("agent.namespace", agent.Namespace), attribute.String("agent.name", agent.Name),
	}
	if id := d.Spec.MessageID; id != "" {
		list = append(list, attribute.String("a2a.message.id", id))
	}
	if id := d.Status.TaskID; id != "" {
		list = append(list, attribute.String("a2a.task.id", id))
	}
	return list
}
