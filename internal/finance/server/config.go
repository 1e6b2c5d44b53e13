package server

import (
	"log/slog"
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
	// Approval makes a task wait for somebody's word about each unusual adjustment.
	Approval bool
	// Delay is the time from a message to the end of what it starts, or to the agent's question.
	Delay time.Duration
	// Push makes the agent send push notifications to whoever asks for them, at private addresses too.
	Push bool
	// Token is the bearer token that callers need; anybody may call where it is empty.
	Token string
	// DataDir is the directory in which tasks, their steps, received messages and the ledger are kept; it is made
	// where it isn't there, and one agent at a time may use it. Where it is empty all ends with the process.
	DataDir string
	// LedgerURL is the base URL of the ledger that is posted to; the agent's own where it is empty.
	LedgerURL string
	// LedgerToken is the bearer token for the ledger at LedgerURL.
	LedgerToken string
	// PublicURL is the base URL in the card, without a slash at its end. Where it is empty the card names
	// the host that the request for it was sent to.
	PublicURL string
	// Faults are what goes wrong.
	Faults Faults
	// Stopping is closed when the server is to stop, which ends what would otherwise hang; it may be nil.
	Stopping <-chan struct{}
	// Logger receives the agent's and the SDK's records; slog's default where it is nil.
	Logger *slog.Logger
}

// Defaults is an agent without faults that deduplicates, shows history, asks for approval and works at once.
func Defaults() Config {
	return Config{Dedup: true, Retention: dedup.DefaultRetention, History: true, Approval: true}
}
