package server

import (
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

// Config says how the agent behaves. [Defaults] is a well-behaved agent.
type Config struct {
	// Dedup makes a repeated message return the first copy's task, and says so in the card.
	Dedup bool
	// Retention is how long a message is remembered where Dedup is on.
	Retention time.Duration
	// History says whether answers show a task's messages. An agent that doesn't can't be asked which
	// task a message made.
	History bool
	// Delay is the time from a task's submission to its end.
	Delay time.Duration
	// Token is the bearer token that callers need; anybody may call where it is empty.
	Token string
	// PublicURL is the base URL in the card, without a slash at its end. Where it is empty the card names
	// the host that the request for it was sent to.
	PublicURL string
	// Faults are what goes wrong at the HTTP edge.
	Faults Faults
	// Logger receives the agent's and the SDK's records; slog's default where it is nil.
	Logger *slog.Logger
}

// Defaults is an agent without faults that deduplicates, shows history and finishes at once.
func Defaults() Config {
	return Config{Dedup: true, Retention: dedup.DefaultRetention, History: true}
}

// Faults are ordered by number: the first so many sends are hit, in the order in which their turn comes.
// All but Reject hit SendMessage only, not its streaming form, and strike after the agent has taken the
// message; a send that was refused is answered as it is and uses no fault up.
type Faults struct {
	// LoseResponses is how many responses are lost: the connection is reset instead.
	LoseResponses int
	// FailAfterAccept is how many sends are answered with 503. Lost responses come first.
	FailAfterAccept int
	// DelayResponse is how long the response of each send is held back.
	DelayResponse time.Duration
	// Reject turns sends away before the agent sees them, streaming ones too.
	Reject Reject
}

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
