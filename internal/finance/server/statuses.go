package server

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Status is an HTTP status given to the first N calls of a method, written METHOD:CODE:N, or to all of
// them where N is negative.
type Status struct {
	Method string
	Code   int
	N      int
}

// Statuses collects a flag that may be given more than once. Those for one method come in that order.
type Statuses []Status

// String writes the forms that Set reads.
func (s *Statuses) String() string {
	if s == nil {
		return ""
	}
	var all []string
	for _, one := range *s {
		all = append(all, fmt.Sprintf("%s:%d:%d", one.Method, one.Code, one.N))
	}
	return strings.Join(all, ",")
}

// Set implements flag.Value; it adds one, or several separated by commas. It returns an error for a method
// that the agent doesn't serve and for a code that is no final HTTP status.
func (s *Statuses) Set(text string) error {
	for one := range strings.SplitSeq(text, ",") {
		fields := strings.Split(one, ":")
		if len(fields) != 3 || !slices.Contains(methods, fields[0]) {
			return fmt.Errorf("want METHOD:CODE:N, such as %s:500:3, with a method of %s, not %q", listTasks, strings.Join(methods, ", "), one)
		}
		code, codeErr := strconv.Atoi(fields[1])
		n, nErr := strconv.Atoi(fields[2])
		if codeErr != nil || nErr != nil || code < 200 || code > 599 {
			return fmt.Errorf("%q has no HTTP status from 200 to 599, or no number", one)
		}
		*s = append(*s, Status{Method: fields[0], Code: code, N: n})
	}
	return nil
}

type statusFault struct {
	Status
	left budget
}

func newStatusFaults(order Statuses) []*statusFault {
	var all []*statusFault
	for _, status := range order {
		fault := &statusFault{Status: status}
		fault.left.left.Store(int64(status.N))
		all = append(all, fault)
	}
	return all
}

// answerStatus answers as something in front of the agent does: in plain text, with nothing of A2A in it. A
// redirect leads back to where the request went, so that a client that follows it is seen to.
func answerStatus(w http.ResponseWriter, r *http.Request, code int) {
	if code >= 300 && code < 400 {
		w.Header().Set("Location", r.URL.RequestURI())
	}
	if code == http.StatusNoContent || code == http.StatusNotModified {
		w.WriteHeader(code)
		return
	}
	http.Error(w, "answered on order", code)
}
