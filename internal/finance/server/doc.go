// Package server is the finance agent as an HTTP server: an A2A 1.0 agent on two transports, its card, and
// a few faults to order for tests and demonstrations.
//
//	/.well-known/agent-card.json   the card; public
//	/a2a                           JSON-RPC
//	/rest                          HTTP+JSON
//	/ledger/postings               the ledger that reconciliations post to, unless that is another server
//	/admin/ledger                  what became of each message; not authenticated, for tests and the demo
//	/healthz                       200 while the server runs
//
// A request passes, from the outside in: authentication, the ledger of received messages, the faults, the
// transport, the user's name, deduplication, the rules of the specification that the SDK leaves open, and
// the SDK's handler. With a data directory tasks, their steps, the deduplication table and the postings are kept in
// files, and work that was under way goes on after a restart; without one everything is in memory. The ledger of
// messages counts what comes in for the life of the process, and starts with the tasks that are stored.
//
// An unusual adjustment makes a task wait for a decision, which comes as a message to the task. A message
// that refers to finished tasks has their report revised; one that says ping or help is answered directly.
package server
