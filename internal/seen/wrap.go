// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package seen

import (
	"context"
	"log/slog"
	"time"
)

// rememberTimeout bounds the write that remembers an id.
const rememberTimeout = 5 * time.Second

// Handler processes one message. An error says that it is to be delivered again.
type Handler[M any] func(ctx context.Context, message M) error

// Option changes how Wrap works.
type Option func(*options)

type options struct{ logger *slog.Logger }

// WithLogger takes the logger for ids that could not be remembered. The default is slog.Default.
func WithLogger(l *slog.Logger) Option { return func(o *options) { o.logger = l } }

// Wrap returns the handler behind the store, as the package's documentation says. id returns the message's own id, or the
// empty string for a message that has none that can be used.
func Wrap[M any](store Store, id func(message M) string, handler Handler[M], opts ...Option) Handler[M] {
	o := options{logger: slog.Default()}
	for _, set := range opts {
		set(&o)
	}
	return func(ctx context.Context, message M) error {
		key := id(message)
		if key == "" {
			return handler(ctx, message)
		}
		switch known, err := store.Seen(ctx, key); {
		case err != nil:
			return err
		case known:
			return nil
		}
		if err := handler(ctx, message); err != nil {
			return err
		}
		o.remember(ctx, store, key)
		return nil
	}
}

// remember records what is done. That the sender no longer waits does not undo it, so its context's end is no reason not
// to; and a failure is none to have the message delivered again, since the work would be repeated for certain.
func (o options) remember(ctx context.Context, store Store, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rememberTimeout)
	defer cancel()
	if err := store.Remember(ctx, id); err != nil {
		o.logger.WarnContext(ctx, "a message was processed and could not be remembered: a repeat will be processed again", "id", id, "cause", err)
	}
}
