// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
	"github.com/delegation-dev/delegation-operator/internal/dedupproxy"
)

const (
	defaultConnectTimeout = 5 * time.Second
	defaultDrainTimeout   = 25 * time.Second
)

// options are what the command line says.
type options struct {
	listen, addressFile string
	metrics, probes     string
	tlsCert, tlsKey     string
	logLevel            slog.Level

	store, storeFile string
	lease            time.Duration

	upstreamCA     string
	connectTimeout time.Duration
	drainTimeout   time.Duration

	principal principalOptions
	proxy     dedupproxy.Config
}

// parse reads the command line. It returns flag.ErrHelp when help was asked for and written to stderr.
func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{logLevel: slog.LevelInfo, proxy: dedupproxy.Config{Lookup: dedupproxy.LookupBestEffort}}
	flags := flag.NewFlagSet("dedup-proxy", flag.ContinueOnError)
	flags.SetOutput(stderr)
	o.bindServing(flags)
	o.bindAgent(flags)
	o.bindTable(flags)
	o.principal.bind(flags)
	flags.Func("trusted-proxies", "addresses in front, as CIDRs separated by commas, whose X-Forwarded-For and --principal-header are believed", func(s string) error {
		return addPrefixes(&o.proxy.TrustedProxies, s)
	})
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return o, o.check()
}

func (o *options) bindServing(f *flag.FlagSet) {
	f.StringVar(&o.listen, "listen", "127.0.0.1:8080", "address to listen on; port 0 takes any free one")
	f.StringVar(&o.addressFile, "address-file", "", "file to write the URL listened on to")
	f.StringVar(&o.tlsCert, "tls-cert", "", "file of the certificate to serve TLS with; read again when it changes")
	f.StringVar(&o.tlsKey, "tls-key", "", "file of the certificate's key")
	f.StringVar(&o.metrics, "metrics-bind-address", "0", "address of /metrics, such as 127.0.0.1:9090; 0 for none")
	f.StringVar(&o.probes, "health-probe-bind-address", "0", "address of /healthz and /readyz, such as :8081; 0 for none")
	f.TextVar(&o.logLevel, "log-level", o.logLevel, "lowest level logged: debug, info, warn or error")
	f.DurationVar(&o.drainTimeout, "drain-timeout", defaultDrainTimeout, "how long a shutdown waits for sends that the agent has not answered")
	f.Int64Var(&o.proxy.MaxRequest, "max-request-bytes", dedupproxy.DefaultMaxRequest, "largest request body of a POST")
	f.Int64Var(&o.proxy.MaxResponse, "max-response-bytes", dedupproxy.DefaultMaxResponse, "largest answer to a send, or part of a stream up to its first event")
	f.Func("public-url", "base URL in the agent card; the host the card was asked from where empty", func(s string) (err error) {
		o.proxy.PublicURL, err = baseURL(s)
		return err
	})
}

func (o *options) bindAgent(f *flag.FlagSet) {
	f.Func("upstream", "the agent's base URL, such as http://127.0.0.1:8090; required", func(s string) (err error) {
		o.proxy.Upstream, err = baseURL(s)
		return err
	})
	f.StringVar(&o.upstreamCA, "upstream-ca", "", "file of the certificates that the agent's is verified with; the system's where empty")
	f.DurationVar(&o.connectTimeout, "connect-timeout", defaultConnectTimeout, "how long a connection to the agent may take to come about")
	f.DurationVar(&o.proxy.SendTimeout, "send-timeout", dedupproxy.DefaultSendTimeout,
		"how long the agent may take to answer a send, or to give a stream's first event, also after the client hung up")
	f.Func("agent-url", "another base URL by which the agent's card calls itself; may be repeated", func(s string) error {
		u, err := baseURL(s)
		o.proxy.AgentURLs = append(o.proxy.AgentURLs, u)
		return err
	})
	f.Func("rest-path", "path of the agent's HTTP+JSON interface behind --upstream, such as /rest; from the agent's card where not given; may be repeated", func(s string) error {
		o.proxy.RESTPaths = append(o.proxy.RESTPaths, s)
		return nil
	})
}

func (o *options) bindTable(f *flag.FlagSet) {
	f.StringVar(&o.store, "store", "", "the table: sqlite:PATH for one replica, postgres://… for several, memory for none that survives; required, or --store-file")
	f.StringVar(&o.storeFile, "store-file", "", "file that holds the value of --store, such as a mounted Secret with a PostgreSQL URL")
	f.DurationVar(&o.proxy.Retention, "retention", dedup.DefaultRetention, "how long a message is remembered")
	f.DurationVar(&o.lease, "lease", dedup.DefaultLease, "how long a replica that holds a message is believed to live without a sign of life")
	f.Var(&o.proxy.Lookup, "lookup", "what the agent's owner promises about ListTasks: authoritative, best-effort or none")
	f.DurationVar(&o.proxy.Settle, "settle", dedupproxy.DefaultSettle, "how long after a send the agent shows its task at the latest")
}

func (o *options) check() error {
	switch {
	case o.proxy.Upstream == nil:
		return errors.New("--upstream is required: the agent's base URL, such as http://127.0.0.1:8090")
	case (o.store == "") == (o.storeFile == ""):
		return errors.New("give either --store, such as sqlite:/var/lib/dedup/messages.db, or --store-file")
	case (o.tlsCert == "") != (o.tlsKey == ""):
		return errors.New("--tls-cert and --tls-key go together")
	case o.proxy.Retention <= 0, o.lease <= 0, o.proxy.SendTimeout <= 0, o.connectTimeout <= 0, o.drainTimeout <= 0:
		return errors.New("--retention, --lease, --send-timeout, --connect-timeout and --drain-timeout must be positive")
	case o.proxy.Retention < o.lease:
		return errors.New("--retention must not be shorter than --lease")
	case o.proxy.Settle < 0:
		return errors.New("--settle must not be negative")
	case o.proxy.MaxRequest <= 0, o.proxy.MaxResponse <= 0:
		return errors.New("--max-request-bytes and --max-response-bytes must be positive")
	}
	o.proxy.PrincipalHeader = o.principal.header
	return o.principal.check(o)
}

// location is the value of --store, from wherever it came.
func (o *options) location() (string, error) {
	if o.storeFile == "" {
		return o.store, nil
	}
	data, err := os.ReadFile(o.storeFile)
	if err != nil {
		return "", fmt.Errorf("--store-file: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

func baseURL(s string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(s, "/"))
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, errors.New("must be an absolute http or https URL without credentials, query and fragment")
	}
	return u, nil
}

func addPrefixes(list *[]netip.Prefix, s string) error {
	for one := range strings.SplitSeq(s, ",") {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(one))
		if err != nil {
			return fmt.Errorf("must be CIDRs separated by commas, such as 10.0.0.0/8,::1/128: %w", err)
		}
		*list = append(*list, prefix.Masked())
	}
	return nil
}
