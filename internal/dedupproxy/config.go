// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

// Lookup is what the agent's owner promises about finding a task by the message that made it.
type Lookup string

// The promises. Whatever the mode, a message whose task is found is answered with it.
const (
	// LookupNone: the agent can't be asked. An abandoned message is answered with MESSAGE_OUTCOME_UNKNOWN.
	LookupNone Lookup = "none"
	// LookupBestEffort: a task that is found is the message's; one that is not found proves nothing.
	LookupBestEffort Lookup = "best-effort"
	// LookupAuthoritative: the agent keeps and returns the history of its tasks, and a message that ListTasks does not
	// show a settle time after its send was never accepted. Then, and only then, it is forwarded again.
	LookupAuthoritative Lookup = "authoritative"
)

// Set implements flag.Value.
func (l *Lookup) Set(s string) error {
	switch mode := Lookup(s); mode {
	case LookupNone, LookupBestEffort, LookupAuthoritative:
		*l = mode
		return nil
	}
	return fmt.Errorf("must be %s, %s or %s", LookupNone, LookupBestEffort, LookupAuthoritative)
}

// String implements flag.Value.
func (l *Lookup) String() string { return string(*l) }

// The defaults of [Config].
const (
	// DefaultSettle is the settle time of a RemoteAgent's contract.
	DefaultSettle = 60 * time.Second
	// DefaultSendTimeout leaves room for agents that answer when the work is done.
	DefaultSendTimeout = 15 * time.Minute
	// DefaultMaxRequest and DefaultMaxResponse bound what is read of a body.
	DefaultMaxRequest  = 16 << 20
	DefaultMaxResponse = 64 << 20
)

// Principals tells callers apart.
type Principals interface {
	// Of returns the verified name of who sent the request, never empty. An error says that there is none; its text
	// is for the log.
	Of(r *http.Request) (string, error)
}

// Config says how a proxy works. Upstream, Transport, Table and Principals have to be given; [New] fills in the rest.
type Config struct {
	// Upstream is the agent's base URL. A request's path is appended to it.
	Upstream *url.URL
	// Transport makes the requests to the agent. It must not follow redirects or repeat requests.
	Transport http.RoundTripper
	// Table decides which copy is the first.
	Table *dedup.Table
	// Principals tells callers apart.
	Principals Principals
	// Retention is what the relayed card promises; it has to be the table's.
	Retention time.Duration
	// Lookup is what the agent's owner promises about finding tasks.
	Lookup Lookup
	// Settle is how long after the last moment at which a message could have left the agent shows its task.
	Settle time.Duration
	// SendTimeout bounds how long the agent may take to answer a send, or to give the first event of a stream. Past it
	// the outcome is open.
	SendTimeout time.Duration
	// MaxRequest and MaxResponse bound bodies that are read whole, in bytes.
	MaxRequest, MaxResponse int64
	// PublicURL is the proxy's base URL in the card; the host that the card was asked from where it is nil.
	PublicURL *url.URL
	// AgentURLs are further base URLs by which the agent's card calls itself.
	AgentURLs []*url.URL
	// RESTPaths are the paths of the agent's HTTP+JSON interfaces, behind Upstream. They tell a tenant in a path from the
	// interface's own. Where there are none they are read from the card.
	RESTPaths []string
	// TrustedProxies are the addresses whose X-Forwarded-For is kept, and whose PrincipalHeader is.
	TrustedProxies []netip.Prefix
	// PrincipalHeader is removed from the requests of everybody else; empty where there is none.
	PrincipalHeader string
	// Logger receives what operators have to know; slog's default where it is nil.
	Logger *slog.Logger
	// Metrics counts; metrics of its own where it is nil.
	Metrics *Metrics
}

// complete checks the config and fills in defaults.
func (c *Config) complete() error {
	switch {
	case c.Upstream == nil || c.Upstream.Host == "" || (c.Upstream.Scheme != "http" && c.Upstream.Scheme != "https"):
		return errors.New("upstream: must be an absolute http or https URL, such as http://127.0.0.1:8090")
	case c.Transport == nil, c.Table == nil, c.Principals == nil:
		return errors.New("a proxy needs a transport, a table and principals")
	case c.Settle < 0, c.SendTimeout < 0, c.Retention < 0:
		return errors.New("settle, send timeout and retention must not be negative")
	}
	if c.Lookup == "" {
		c.Lookup = LookupBestEffort
	}
	c.Retention = cmp.Or(c.Retention, dedup.DefaultRetention)
	c.SendTimeout = cmp.Or(c.SendTimeout, DefaultSendTimeout)
	c.MaxRequest = cmp.Or(c.MaxRequest, DefaultMaxRequest)
	c.MaxResponse = cmp.Or(c.MaxResponse, DefaultMaxResponse)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if c.Metrics == nil {
		c.Metrics = NewMetrics()
	}
	return nil
}

// trusts reports whether a peer's word about others is taken.
func (c *Config) trusts(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	for _, prefix := range c.TrustedProxies {
		if prefix.Contains(peer.Addr().Unmap()) {
			return true
		}
	}
	return false
}
