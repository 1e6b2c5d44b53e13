// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// measure is one row of the table.
type measure struct {
	// key names it in the ranges file. Only ratios and counts have one: times depend on the machine.
	key    string
	title  string
	format string
	of     func(round) float64
	// aim says what is wanted, and reached whether a value is that. Most rows have none.
	aim     string
	reached func(float64) bool
}

// measures are the rows, in order.
var measures = []measure{
	{title: "raw status updates/s", format: "%.0f", of: func(r round) float64 { return r.level.updates }},
	{title: "fdatasync/s", format: "%.0f", of: func(r round) float64 { return r.level.syncs }},
	{title: "etcd puts/s, 16 clients", format: "%.0f", of: func(r round) float64 { return r.level.puts }},
	{title: "one status update, p50, ms", format: "%.2f", of: func(r round) float64 { return milliseconds(r.level.write) }},
	{title: "one loopback POST, p50, ms", format: "%.2f", of: func(r round) float64 { return milliseconds(r.level.post) }},
	{title: "Delegations/s", format: "%.1f", of: func(r round) float64 { return r.batch.rate }},
	{key: "eta", title: "η", format: "%.3f", of: eta, aim: "≥ 0.6", reached: func(x float64) bool { return x >= 0.6 }},
	{key: "etaCPU", title: "η in CPU", format: "%.3f", of: etaCPU},
	{
		key: "writesPerDelegation", title: "operator's writes per Delegation", format: "%.2f", of: writesPerDelegation,
		aim: "3.00", reached: func(x float64) bool { return x == 3 },
	},
	{key: "eventsPerDelegation", title: "Events written per Delegation", format: "%.2f", of: func(r round) float64 { return r.batch.each(r.batch.events) }},
	{key: "configMapsPerDelegation", title: "ConfigMaps written per Delegation", format: "%.2f", of: func(r round) float64 { return r.batch.each(r.batch.configMaps) }},
	{key: "otherWritesPerDelegation", title: "other writes per Delegation", format: "%.2f", of: func(r round) float64 { return r.batch.each(r.batch.otherWrites) }},
	{title: "create to receipt, batch, p50, ms", format: "%.0f", of: func(r round) float64 { return milliseconds(quantile(r.batch.received, 0.5)) }},
	{title: "create to receipt, batch, p99, ms", format: "%.0f", of: func(r round) float64 { return milliseconds(quantile(r.batch.received, 0.99)) }},
	{title: "create to bound, batch, p50, ms", format: "%.0f", of: func(r round) float64 { return milliseconds(quantile(r.batch.bound, 0.5)) }},
	{title: "create to bound, batch, p99, ms", format: "%.0f", of: func(r round) float64 { return milliseconds(quantile(r.batch.bound, 0.99)) }},
	{title: "create to receipt, idle, p50, ms", format: "%.2f", of: func(r round) float64 { return milliseconds(quantile(r.idle.received, 0.5)) }},
	{title: "create to receipt, idle, p99, ms", format: "%.2f", of: func(r round) float64 { return milliseconds(quantile(r.idle.received, 0.99)) }},
	{title: "create to bound, idle, p50, ms", format: "%.2f", of: func(r round) float64 { return milliseconds(quantile(r.idle.bound, 0.5)) }},
	{title: "create to bound, idle, p99, ms", format: "%.2f", of: func(r round) float64 { return milliseconds(quantile(r.idle.bound, 0.99)) }},
	{
		key: "receiptRatio", title: "create to receipt, idle, p50 ÷ (update + POST)", format: "%.2f", of: receiptRatio,
		aim: "< 3", reached: func(x float64) bool { return x < 3 },
	},
	{title: "manager's CPU per 1,000, s", format: "%.2f", of: func(r round) float64 { return r.batch.perThousand(r.batch.cpu.manager) }},
	{title: "API server's CPU per 1,000, s", format: "%.2f", of: func(r round) float64 { return r.batch.perThousand(r.batch.cpu.apiServer) }},
	{title: "etcd's CPU per 1,000, s", format: "%.2f", of: func(r round) float64 { return r.batch.perThousand(r.batch.cpu.etcd) }},
	{title: "agent's CPU per 1,000, s", format: "%.2f", of: func(r round) float64 { return r.batch.perThousand(r.batch.cpu.agent) }},
	{title: "bench's CPU per 1,000, s", format: "%.2f", of: func(r round) float64 { return r.batch.perThousand(r.batch.cpu.bench) }},
	{key: "managerCPU", title: "manager's CPU per Delegation, in raw updates", format: "%.2f", of: func(r round) float64 { return inUpdates(r, r.batch.cpu.manager) }},
	{key: "serversCPU", title: "API server's and etcd's, in raw updates", format: "%.2f", of: func(r round) float64 { return inUpdates(r, r.batch.cpu.apiServer+r.batch.cpu.etcd) }},
	{title: "manager's peak memory, MiB", format: "%.0f", of: func(r round) float64 { return float64(r.peak >> 20) }},
	{
		key: "duplicates", title: "messages that came twice, so far", format: "%.0f", of: func(r round) float64 { return float64(r.counts.Sends - r.counts.Messages) },
		aim: "0", reached: func(x float64) bool { return x == 0 },
	},
}

// eta is the share of what the API server takes that goes into Delegations: the operator's writes and the one that
// creates, times the rate, of the raw updates in the same round.
func eta(r round) float64 { return (writesPerDelegation(r) + 1) * r.batch.rate / r.level.updates }

// etaCPU is the same share of the CPU of manager, API server and etcd. What else runs on the machine hardly changes it.
func etaCPU(r round) float64 {
	return (writesPerDelegation(r) + 1) / inUpdates(r, r.batch.cpu.manager+r.batch.cpu.apiServer+r.batch.cpu.etcd)
}

func writesPerDelegation(r round) float64 { return r.batch.each(r.batch.delegationWrites) }

// receiptRatio compares the time to the agent on an idle system with a write and a call.
func receiptRatio(r round) float64 {
	return float64(quantile(r.idle.received, 0.5)) / float64(r.level.write+r.level.post)
}

// inUpdates is the CPU of one Delegation in multiples of what API server and etcd use for one raw update.
func inUpdates(r round, used time.Duration) float64 {
	return float64(used) / float64(r.batch.n) / float64(r.level.cpu)
}

func (b batch) each(n int64) float64 { return float64(n) / float64(b.n) }

func (b batch) perThousand(d time.Duration) float64 { return d.Seconds() * 1000 / float64(b.n) }

// values of a measure in all rounds, and their median.
func (m measure) values(rounds []round) (each []float64, middle float64) {
	for _, r := range rounds {
		each = append(each, m.of(r))
	}
	return each, median(each)
}

// printTable writes a row for each measure.
func printTable(out io.Writer, rounds []round) error {
	columns := []string{"measure"}
	for i := range rounds {
		columns = append(columns, fmt.Sprintf("round %d", i+1))
	}
	columns = append(columns, "median", "aim", "")
	lines := []string{row(columns), "|---|" + strings.Repeat("--:|", len(rounds)+1) + "---|---|"}
	for _, m := range measures {
		each, middle := m.values(rounds)
		cells := []string{m.title}
		for _, x := range append(each, middle) {
			cells = append(cells, fmt.Sprintf(m.format, x))
		}
		lines = append(lines, row(append(cells, m.aim, m.verdict(each))))
	}
	_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))
	return err
}

// verdict is on all rounds: an aim that one of them missed is not reached.
func (m measure) verdict(each []float64) string {
	if m.reached == nil {
		return ""
	}
	for _, x := range each {
		if !m.reached(x) {
			return "not reached"
		}
	}
	return "reached"
}

func row(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }
