// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
)

// Pace is a rate, in events a second, and how many may come at once.
type Pace struct {
	PerSecond float64
	Burst     int
}

// limiter returns a limiter that is full.
func (p Pace) limiter() *rate.Limiter { return rate.NewLimiter(rate.Limit(p.PerSecond), p.Burst) }

// Limits bounds what happens for each Delegation, and for all of them. A Delegation that has used up its own share takes
// nothing from the others'.
type Limits struct {
	each Pace
	all  *rate.Limiter
	now  func() time.Time

	mu    sync.Mutex
	byUID map[types.UID]*rate.Limiter
	// tidyAt is the size at which limiters that are full again are dropped: they are as new ones.
	tidyAt int
}

const firstTidy = 1024

// NewLimits returns limits that nobody has used. now is the clock, time.Now outside tests.
func NewLimits(each, all Pace, now func() time.Time) *Limits {
	return &Limits{each: each, all: all.limiter(), now: now, byUID: map[types.UID]*rate.Limiter{}, tidyAt: firstTidy}
}

// Allow reports whether one more may happen for a Delegation now, and counts it if so.
func (l *Limits) Allow(delegation types.UID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	own := l.byUID[delegation]
	if own == nil {
		l.tidy(now)
		own = l.each.limiter()
		l.byUID[delegation] = own
	}
	return own.AllowN(now, 1) && l.all.AllowN(now, 1)
}

// tidy bounds the memory by the number of Delegations that were heard of lately. The caller holds the lock.
func (l *Limits) tidy(now time.Time) {
	if len(l.byUID) < l.tidyAt {
		return
	}
	for uid, own := range l.byUID {
		if own.TokensAt(now) >= float64(l.each.Burst) {
			delete(l.byUID, uid)
		}
	}
	l.tidyAt = max(firstTidy, 2*len(l.byUID))
}
