// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"net/http"
	"strings"
	"time"
)

// maxRetryAfter caps what an agent may ask for: a mistake there must not stop deliveries for days.
const maxRetryAfter = 15 * time.Minute

// retryAfter reads the Retry-After header (RFC 9110, section 10.2.3), in seconds or as a date: from 0 to maxRetryAfter,
// and 0 for anything else.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789") == "" {
		return seconds(value)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return bounded(at.Sub(now))
}

// seconds reads digits of any number.
func seconds(digits string) time.Duration {
	var total time.Duration
	for _, d := range digits {
		if total = total*10 + time.Duration(d-'0')*time.Second; total > maxRetryAfter {
			return maxRetryAfter
		}
	}
	return total
}

func bounded(d time.Duration) time.Duration {
	return min(max(d, 0), maxRetryAfter)
}
