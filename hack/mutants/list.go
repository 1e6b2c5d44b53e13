// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "path/filepath"

// mutant is one promise broken, and the test that has to notice.
type mutant struct {
	// name is also that of its patch.
	name string
	// promise is the one of docs/guarantees.md, in the order of its table: P1 for its first row. An asterisk is for the row
	// on two answers to one question, and an N for the one on namespaces that share a RemoteAgent.
	promise string
	// breaks says what is wrong with it.
	breaks string
	// pkg and test are the package and the test, or subtest, that fails with it. Of several the fastest.
	pkg, test string
	// says is in the output of the test where it fails for this mutant and not for another reason.
	says string
}

func (m mutant) patch() string { return filepath.Join(folder, m.name+".patch") }

const (
	outbox      = "./internal/outbox"
	courier     = "./internal/courier"
	remote      = "./internal/remote"
	controllers = "./controllers"
	e2e         = "./test/e2e"
)

var mutants = []mutant{
	{
		name: "failed-lookup-not-repeated", promise: "P1", breaks: "a lookup that fails is not made again, and the Delegation waits for ever",
		pkg: outbox, test: "TestSimulation", says: "P1: every Delegation ends",
	}, {
		name: "messageid-per-attempt", promise: "P2", breaks: "each attempt goes out with a messageId of its own",
		pkg: e2e, test: "TestLostResponse/deduplication", says: "taskId",
	}, {
		name: "retention-ignored", promise: "P2", breaks: "a message is sent again to an agent that has forgotten it",
		pkg: outbox, test: "TestNext/not past its retention: then it is looked up", says: "want outbox.Ask",
	}, {
		name: "no-finalizer", promise: "P2", breaks: "the finalizer does not come with the first attempt, so that a deletion leaves the task alone",
		pkg: e2e, test: "TestTheIdsAreStoredBeforeTheFirstByte", says: "at the first byte the API server held",
	}, {
		name: "until-ignored", promise: "P2", breaks: "time in a queue does not count: a copy leaves after the agent has forgotten the first",
		pkg: e2e, test: "TestRightToSendEndsInTheQueue", says: "want phase Undelivered",
	}, {
		name: "result-observed-late", promise: "P2", breaks: "what a call proved is looked at after the object is read, which is then the older of the two",
		pkg: controllers, test: "TestACallIsLookedAtBeforeItsObject", says: "of an object that was read before the call ended",
	}, {
		name: "no-journal", promise: "P3", breaks: "the message is sent without the journal write",
		pkg: e2e, test: "TestTheIdsAreStoredBeforeTheFirstByte", says: "at the first byte the API server held",
	}, {
		name: "journal-without-version", promise: "P3", breaks: "the journal is written over whatever is there, so that two replicas both send",
		pkg: controllers, test: "TestAnOutdatedObjectIsNotJournalled", says: "want a conflict",
	}, {
		name: "bad-gateway-is-not-sent", promise: "P3", breaks: "HTTP 502 counts as not sent",
		pkg: remote, test: "TestSend/Ambiguous: HTTP 502 without a protocol error", says: "got NotSent",
	}, {
		name: "redirects-followed", promise: "P3", breaks: "redirects are followed",
		pkg: remote, test: "TestSend/Ambiguous: HTTP 303 is not followed", says: "want Ambiguous Redirected",
	}, {
		name: "one-page", promise: "P3", breaks: "a lookup ends with the first page",
		pkg: remote, test: "TestFind/Accepted: on the last page", says: "got Absent",
	}, {
		name: "no-deadline", promise: "P3", breaks: "an attempt's deadline does not go with its message",
		pkg: remote, test: "TestSend/NotSent: the attempt ends while the connection is made", says: "want NotSent AttemptExpired",
	}, {
		name: "deadline-checked-early", promise: "P3", breaks: "the deadline is checked before the connection is made, and not before the first byte",
		pkg: remote, test: "TestSend/NotSent: the attempt ends while the connection is made", says: "want NotSent AttemptExpired",
	}, {
		name: "not-found-is-not-sent", promise: "P3", breaks: "what a best-effort lookup does not find counts as not sent",
		pkg: outbox, test: "TestSimulation", says: "and the agent took attempt",
	}, {
		name: "not-found-before-settled", promise: "P3", breaks: "a lookup is believed while the message may still arrive",
		pkg: outbox, test: "TestNext/not found before it settled proves nothing", says: "OutcomeUnknown",
	}, {
		name: "lost-attempt-forgotten", promise: "P3", breaks: "an attempt that was not sent makes an earlier one that was lost not sent too",
		pkg: outbox, test: "TestNext/NotSent does not make an earlier lost answer certain", says: "want Unknown",
	}, {
		name: "body-not-compared", promise: "P4", breaks: "a changed source is sent under the messageId of the first body",
		pkg: outbox, test: "TestNext/a changed source stops", says: "MessageSourceChanged",
	}, {
		name: "end-overwritten", promise: "P5", breaks: "a terminal state is overwritten by a late look",
		pkg: outbox, test: "TestNext/whatever comes", says: `want "Completed"`,
	}, {
		name: "each-look-written", promise: "P6", breaks: "each look at the task is a write",
		pkg: outbox, test: "TestNext/what did not change is not written", says: "1 status writes, want 0",
	}, {
		name: "retry-after-unread", promise: "P6", breaks: "Retry-After is not read",
		pkg: remote, test: "TestSend/NotSent: HTTP 429 and Retry-After is seconds", says: "RetryAfter 0s",
	}, {
		name: "retry-after-unheeded", promise: "P6", breaks: "the next attempt does not wait for what Retry-After asked for",
		pkg: outbox, test: "TestAnHourOfErrors/429 with Retry-After of five minutes", says: "attempts in an hour",
	}, {
		name: "stop-without-command", promise: "P7", breaks: "a stop does not name the command that ends it",
		pkg: outbox, test: "TestSimulation", says: "P7: a way out of every stop",
	}, {
		name: "answer-without-claim", promise: "P*", breaks: "an answer is sent without a claim on the question",
		pkg: outbox, test: "TestLife/an answer claims the question", says: "want outbox.Claim",
	}, {
		name: "claim-without-version", promise: "P*", breaks: "the claim is written over whatever is there, so that two answers both hold it",
		pkg: controllers, test: "TestAQuestionIsClaimedOnce", says: "want a conflict",
	}, {
		name: "tenant-ids-unchecked", promise: "N", breaks: "a messageId may be another namespace's",
		pkg: outbox, test: "TestTenantIDs/nor another tenant's", says: "MessageIdNotNamespaced",
	}, {
		name: "forged-journal-trusted", promise: "N", breaks: "a journal is believed that names another namespace's task",
		pkg: outbox, test: "TestNothingThatATenantWritesReachesAnother", says: "asks for another's task",
	}, {
		name: "allowance-ignored", promise: "N", breaks: "a RemoteAgent is used by namespaces that it does not allow",
		pkg: controllers, test: "TestWhatMayNotBeUsedReadsAsIfItWereNotThere", says: "not allowed:",
	}, {
		name: "one-queue-for-all", promise: "N", breaks: "the messages of all namespaces wait in one queue",
		pkg: courier, test: "TestTenantsTakeTurns/each has its turn", says: "want",
	},
}
