package server

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Reject is an HTTP status given to the first N sends, written CODE:N or CODE:N:SECONDS.
type Reject struct {
	Code int
	N    int
	// RetryAfter goes into the header of that name, in whole seconds; zero means no header. The form
	// CODE:N means a second for 429 and 503, where clients expect the header.
	RetryAfter time.Duration
}

// String writes the form that Set reads.
func (r *Reject) String() string {
	if r == nil || r.N == 0 {
		return ""
	}
	return fmt.Sprintf("%d:%d:%d", r.Code, r.N, int(r.RetryAfter/time.Second))
}

// Set implements flag.Value. It returns an error for anything but an HTTP error status and counts of
// zero or more.
func (r *Reject) Set(s string) error {
	fields := strings.Split(s, ":")
	var n [3]int
	if len(fields) < 2 || len(fields) > len(n) {
		return fmt.Errorf("want CODE:N or CODE:N:SECONDS, such as 429:2, not %q", s)
	}
	for i, field := range fields {
		var err error
		if n[i], err = strconv.Atoi(field); err != nil || n[i] < 0 {
			return fmt.Errorf("%q is not a number of zero or more", field)
		}
	}
	if n[0] < 400 || n[0] > 599 {
		return fmt.Errorf("%d is not an HTTP error status", n[0])
	}
	if len(fields) == 2 && (n[0] == http.StatusTooManyRequests || n[0] == http.StatusServiceUnavailable) {
		n[2] = 1
	}
	*r = Reject{Code: n[0], N: n[1], RetryAfter: time.Duration(n[2]) * time.Second}
	return nil
}

func reject(w http.ResponseWriter, order Reject) {
	if order.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(order.RetryAfter/time.Second)))
	}
	http.Error(w, "rejected on order", order.Code)
}
