// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// The delivery of one Delegation: two replicas without leader election, an API
// server, a network that loses, an agent, and time. README.md says what is in the
// model and what is not. check.sh runs it.
//
// One contract has to be defined:
//   DEDUP          one task per messageId, the memory of it outlasts the run
//   AUTHORITATIVE  a search that began after the attempt has settled tells the truth
//   BESTEFFORT     a search may miss the task
//   NONE           there is no search
//
// One property may be defined:
//   P_TASK   at most one task
//   P_OPEN   a message leaves only if no earlier one may have been accepted
//   P_TRUTH  what the status says is so
//   P_DONE   the formula "done", to be searched with weak fairness
// Without one, the search is for states in which the protocol is stuck.
//
// DELIVERY_END lets spec.deliveryDeadline pass at any time.

#if defined(DEDUP) + defined(AUTHORITATIVE) + defined(BESTEFFORT) + defined(NONE) != 1
#error "define one of DEDUP, AUTHORITATIVE, BESTEFFORT, NONE"
#endif
#if defined(AUTHORITATIVE) || defined(BESTEFFORT)
#define SEARCH
#endif

// The bounds of the model.
#ifndef CRASHES
#define CRASHES 2 // crashes of a replica, in sum
#endif
#ifndef FAULTS
#define FAULTS 2 // things that go wrong on the way, in sum: see README.md
#endif
#ifndef HASTE
#define HASTE 1 // replays while the attempt before is still under way, in sum
#endif
#define MAX 8 // attempts; an assertion shows that no run needs more

// ---------------------------------------------------------------- the API server

mtype = { Pending, Bound, Unknown, Undelivered }; // status.phase. Pending stands for Sending, too
mtype = { No, Maybe, Yes };                       // the condition Delivered: False, Unknown, True

typedef Delegation {
	byte number;     // the journal: the latest attempt ...
	byte holder;     // ... and the process that made it
	byte attempts;   // status.attempts
	mtype delivered; // the condition Delivered
	mtype phase;     // status.phase
	byte task        // status.taskId, 0 without one
};

Delegation object;   // in etcd
Delegation cache[2]; // as each replica sees it; any number of writes behind
// current[r]: the copy of replica r has the resourceVersion of the object. Each
// write takes that away from all copies. This says all that a comparison of
// resourceVersions can say, and keeps no number that grows.
bool current[2];

#define CAS(r) (current[r])

// behind[r]: the copy of replica r lacks a write that r knows that it made. The
// cached client waits until it shows (cmd/manager: EnableReadYourWritesConsistency).
bool behind[2];

inline wrote() { current[0] = false; current[1] = false; behind[r] = true }

// Each start of a process has its own name: after a crash the attempts of before
// are those of a stranger.
#define STRANGER 2

// ------------------------------------------------------------------- the replicas

mtype = { Idle, Fenced, Checked, Awaiting, Looking };   // what the courier of a replica does
mtype = { Nothing, Accepted, NotSent, Ambiguous, Absent }; // outbox.Outcome

typedef Memory {
	mtype step;    // the call that is out
	byte number;   // its attempt
	mtype outcome; // outbox.Result: what the last call proved ...
	byte about;      // ... about which attempt
	byte task;     // ... and the task that it brought
	byte since     // of a search: the attempts that had settled when it began
};

Memory mem[2];   // lost in a crash
mtype reply[2];  // the agent's answer on its way to a replica
bool looked[2];  // the replica has made its late search of an Unknown message

// -------------------------------------------------------- the network and the agent

byte flight[MAX + 1];  // copies of each attempt that are on their way to the agent
byte tasks;            // tasks that the agent made of the message
bool seen[MAX + 1];    // messageIds that a deduplicating agent remembers

#ifdef NEW_ID
#define ID(n) (n) // mutant: each attempt has its own messageId
#else
#define ID(n) 1
#endif

// ----------------------------------------------------------------------- the time

byte last;     // the latest attempt that anybody has begun
byte over;     // the attempts whose deadline is over
byte settled;  // the attempts whose deadline and settle time are over
bool ended;    // deliveryDeadline is over

// ---------------------------------------------------------------------- the bounds

byte crashes, faults, haste;

inline fault() { faults++ }
#define FAULT (faults < FAULTS)

// -------------------------------------------------- what only the observer can see

bool unproved[MAX + 1]; // the attempt left, and nothing has proved that it was not accepted
byte sent;          // messages that left

#define FLYING (flight[1] + flight[2] + flight[3] + flight[4] + flight[5] + flight[6] + flight[7] + flight[8])
#define OPEN   (unproved[1] || unproved[2] || unproved[3] || unproved[4] || unproved[5] || unproved[6] || unproved[7] || unproved[8])
#define DONE   (object.phase == Bound || object.phase == Unknown || object.phase == Undelivered)

#ifdef P_TASK
#define ASSERT_TASK(x) assert(x)
#else
#define ASSERT_TASK(x) skip
#endif
#ifdef P_OPEN
#define ASSERT_OPEN(x) assert(x)
#else
#define ASSERT_OPEN(x) skip
#endif
#ifdef P_TRUTH
#define ASSERT_TRUTH(x) assert(x)
#else
#define ASSERT_TRUTH(x) skip
#endif
// A witness is a state that has to be reachable, or the model shows nothing.
#ifdef WITNESS
#define LOOK_FOR assert(!(WITNESS))
#else
#define LOOK_FOR skip
#endif

// =========================================================== the decision: Next()
// C is the copy on which replica r decides.

#define C cache[r]
#define M mem[r]

// allRefuted, attempted.go
#define REFUTED(n) ((n) == 0 || (C.attempts >= (n) && C.delivered == No))
// unrecorded, attempted.go
#define UNRECORDED (C.attempts < M.about || (M.outcome != Ambiguous && C.delivered == Maybe))
// ownResult, attempted.go
#ifdef TAKES_OTHERS
#define OWN (C.number == M.about) // mutant: another's attempt counts as one's own
#else
#define OWN (C.number == M.about && C.holder == r)
#endif
// A result of a send that is still to be written.
#define HELD ((M.outcome == NotSent || M.outcome == Ambiguous) && C.number == M.about && OWN && UNRECORDED)
// It is about an attempt that the copy does not show, or not yet.
#define AHEAD ((M.outcome == NotSent || M.outcome == Ambiguous) && C.number < M.about)
// Somebody who is alive is busy with attempt n, or is about to bind what it brought.
#define BUSY(q, n) ((mem[q].number == (n) && (mem[q].step == Fenced || mem[q].step == Checked || mem[q].step == Awaiting)) || mem[q].outcome == Accepted)
#define UNDERWAY(n) (BUSY(0, n) || BUSY(1, n))
// The message has no end yet, and this replica has nothing to write first.
#ifdef STALE_OWN
#define IDLE (M.step == Idle) // mutant: a decision on a copy that lacks one's own write
#else
#define IDLE (M.step == Idle && !behind[r])
#endif
#define FREE (IDLE && C.phase == Pending && !HELD && M.outcome != Accepted)

#ifdef BELIEVES_EARLY
#define CONCLUSIVE true // mutant: a search is believed whenever it began
#else
#define CONCLUSIVE (M.since >= C.number) // lookup, recover.go: !r.Started.Before(settled)
#endif

#ifdef WAITS_FOR_HOLDER
#define MAY_RECOVER (C.holder == r) // mutant: an attempt is left to the process that made it
#else
#define MAY_RECOVER true
#endif

#ifdef LOST_IS_NOT_SENT
#define PROVES_NOTHING false // mutant: a lost answer counts as not sent
#else
#define PROVES_NOTHING (M.outcome == Ambiguous)
#endif

#ifdef FORGETS_EARLIER
#define EARLIER_REFUTED true // mutant: not sent now counts as never sent
#else
#define EARLIER_REFUTED REFUTED(M.about - 1)
#endif

// What recover() is for: an attempt is on record, and not what became of it.
#define RECOVER (FREE && MAY_RECOVER && C.number > 0 && !REFUTED(C.number))

inline forget() { M.outcome = Nothing; M.about = 0; M.task = 0; M.since = 0 }

inline holds(what, which) { M.about = which; M.outcome = what; M.step = Idle; M.number = 0; LOOK_FOR }

// stamp, attempted.go: the journal goes into the status.
inline stamp() {
	if
	:: object.attempts < object.number -> object.attempts = object.number
	:: else
	fi
}

// The condition Delivered becomes False: nothing was accepted, and nothing will be.
inline refuted() {
	object.delivered = No;
	ASSERT_TRUTH(tasks == 0 && FLYING == 0)
}

inline conflict() { skip }

// send, unsent.go, and journal, controllers/send.go: one Update with the
// resourceVersion of the copy that was decided on. Decision and write are one step
// here: a write that comes in between is the same as a copy that was stale already.
inline journal(which) {
	assert(which <= MAX);
	if
#ifdef NO_JOURNAL
	:: true -> // mutant: the message leaves without a journal entry
		printf("replica %d sends attempt %d and writes nothing down\n", r, which);
		M.step = Fenced; M.number = which;
		if :: last < which -> last = which :: else fi
#else
#ifdef BLIND_JOURNAL
	:: true -> // mutant: an Update without a resourceVersion, which overwrites
#else
	:: CAS(r) ->
#endif
		object.number = which; object.holder = r;
		if :: last < which -> last = which :: else fi;
		wrote();
		if
		:: true -> // Fence, attempt.go: the token
			printf("replica %d journals attempt %d\n", r, which);
			forget();
			M.step = Fenced; M.number = which
		:: FAULT -> // JournalWriteFailed although it was written: no token
			fault();
			behind[r] = false;
			printf("replica %d journals attempt %d, the API server's answer is lost\n", r, which);
			forget();
			holds(NotSent, which)
		fi
#ifndef BLIND_JOURNAL
	:: !CAS(r) -> conflict()
#endif
#endif
	:: FAULT -> // JournalWriteFailed, and not written
		fault();
		printf("replica %d can't journal attempt %d\n", r, which);
		forget();
		holds(NotSent, which)
	fi
}

// unknown, unknown.go
inline unknown() {
	if
	:: CAS(r) ->
		printf("replica %d writes: Unknown\n", r);
		stamp(); object.delivered = Maybe; object.phase = Unknown;
		wrote(); forget(); LOOK_FOR
	:: else -> conflict()
	fi
}

// late, unsent.go
inline undelivered() {
	if
	:: CAS(r) ->
		printf("replica %d writes: Undelivered\n", r);
		refuted(); object.phase = Undelivered;
		wrote(); LOOK_FOR
	:: else -> conflict()
	fi
}

proctype Replica(byte r) {
	do
	// ------------------------------------------------------------ bind, bound.go
	// The answer of a send or of a search, of whatever attempt; also where a
	// person already reads Unknown.
	:: atomic { IDLE && M.outcome == Accepted && C.task == 0 ->
		if
		:: CAS(r) ->
			printf("replica %d writes: bound to task %d\n", r, M.task);
			assert(object.task == 0);
			ASSERT_TRUTH(M.task >= 1 && M.task <= tasks && object.phase != Undelivered);
			stamp(); object.task = M.task; object.phase = Bound; object.delivered = Yes;
			wrote(); forget(); LOOK_FOR
		:: else -> conflict()
		fi }
	:: atomic { IDLE && M.outcome == Accepted && C.task != 0 -> forget() }

	// ------------------------------------------------- recordSend, attempted.go
	:: atomic { IDLE && C.phase == Pending && HELD ->
		if
		:: CAS(r) ->
			if
			:: !PROVES_NOTHING && EARLIER_REFUTED ->
				printf("replica %d writes: attempt %d was not accepted\n", r, M.about);
				stamp(); refuted()
			:: else ->
				printf("replica %d writes: attempt %d is open\n", r, M.about);
				stamp(); object.delivered = Maybe
			fi;
			wrote(); forget()
		:: else -> conflict()
		fi }
	// What says nothing about the attempt on record any more.
	:: atomic { IDLE && (M.outcome == NotSent || M.outcome == Ambiguous) && (C.phase != Pending || (!AHEAD && !HELD)) -> forget() }

	// ----------------------------------------------------------- unsent, unsent.go
	:: atomic { FREE && C.number == 0 && !ended -> journal(1) }
	:: atomic { FREE && C.number == 0 && ended -> undelivered() }

	// --------------------------------------------------------- retry, attempted.go
	:: atomic { FREE && C.number > 0 && REFUTED(C.number) && !ended -> journal(C.number + 1) }
	:: atomic { FREE && C.number > 0 && REFUTED(C.number) && ended -> undelivered() }

	// --------------------------------------------------------- recover, recover.go
	// The attempt on record has no known outcome: it ended so, its holder crashed,
	// or another replica has it out. First noteSending: it is noted that it is open.
	:: atomic { RECOVER && C.attempts < C.number && CAS(r) ->
		printf("replica %d writes: attempt %d is open\n", r, C.number);
		stamp(); object.delivered = Maybe; wrote() }
	// attempted, attempted.go: after the end of delivery nothing is searched for.
	:: atomic { RECOVER && ended && over >= C.number -> unknown() }
#ifdef DEDUP
	// replay, recover.go: the identical message goes once more.
	:: atomic { RECOVER && !ended && !UNDERWAY(C.number) -> journal(C.number + 1) }
	:: atomic { RECOVER && !ended && UNDERWAY(C.number) && haste < HASTE && CAS(r) ->
		haste++; journal(C.number + 1) }
#endif
#ifdef NONE
	// giveUpAt, recover.go
	:: atomic { RECOVER && over >= C.number -> unknown() }
#endif
#ifdef SEARCH
	// lookup, recover.go
	:: atomic { RECOVER && M.outcome != Absent && !(ended && over >= C.number) ->
		forget(); M.step = Looking; M.since = settled;
		if
		:: settled >= C.number -> printf("replica %d begins a search, attempt %d has settled\n", r, C.number)
		:: else -> printf("replica %d begins a search, attempt %d has not settled\n", r, C.number)
		fi }
	:: atomic { RECOVER && M.outcome == Absent && !CONCLUSIVE -> forget() }
	:: atomic { RECOVER && M.outcome == Absent && CONCLUSIVE ->
#ifdef AUTHORITATIVE
		// refute, recover.go
		if
		:: CAS(r) ->
			printf("replica %d writes: attempt %d was not accepted, the agent does not show it\n", r, C.number);
			stamp(); refuted(); wrote(); forget()
		:: else -> conflict()
		fi }
#else
		unknown() }
#endif
	// The search was about a message that has its answer by now.
	:: atomic { IDLE && M.outcome == Absent && (C.phase != Pending || REFUTED(C.number)) -> forget() }
	// unknownAgain, unknown.go: every ten minutes; once here.
	:: atomic { IDLE && C.phase == Unknown && M.outcome == Nothing && !looked[r] ->
		looked[r] = true; M.step = Looking; M.since = settled;
		printf("replica %d searches for the Unknown message again\n", r) }
	// Find, internal/remote/find.go. What a search has to show is one instant here.
	:: atomic { M.step == Looking && tasks > 0 ->
		printf("replica %d finds task 1\n", r);
		M.task = 1; holds(Accepted, 0) }
#ifdef AUTHORITATIVE
	:: atomic { M.step == Looking && (tasks == 0 || M.since < last) ->
		// Of what had settled when the search began, and has no task, it is proved now.
		byte i = 1;
		do :: i <= M.since -> unproved[i] = false; i++ :: else -> break od;
		i = 0;
#else
	:: atomic { M.step == Looking ->
#endif
		printf("replica %d finds no task\n", r);
		holds(Absent, 0) }
#endif

	// ------------------------------------------ Send, internal/remote/calls.go
	// expired, wire.go: the last check of the deadline.
	:: atomic { M.step == Fenced && over >= M.number ->
		printf("replica %d does not send attempt %d: its deadline is over\n", r, M.number);
		holds(NotSent, M.number) }
	:: atomic { M.step == Fenced && over < M.number -> M.step = Checked }
	// No connection, or one that took no byte.
	:: atomic { M.step == Checked && FAULT ->
		fault();
		printf("replica %d gets no connection for attempt %d\n", r, M.number);
		holds(NotSent, M.number) }
	// The bytes leave.
	:: atomic { M.step == Checked ->
		printf("replica %d: attempt %d leaves\n", r, M.number);
#ifndef DEDUP
		ASSERT_OPEN(!OPEN);                      // by what is proved
		ASSERT_OPEN(tasks == 0 && FLYING == 0);  // by what is so
#endif
		ASSERT_TRUTH(object.phase != Undelivered);
		unproved[M.number] = true; flight[M.number]++;
		if :: sent < 9 -> sent++ :: else fi;
		M.step = Awaiting; LOOK_FOR }
	:: atomic { M.step == Awaiting && reply[r] == Accepted ->
		printf("replica %d has the agent's answer: a task\n", r);
		reply[r] = Nothing; M.task = 1;
#ifdef NEW_ID
		M.task = tasks;
#endif
		holds(Accepted, M.number) }
	:: atomic { M.step == Awaiting && reply[r] == NotSent ->
		printf("replica %d has the agent's answer: not taken\n", r);
		reply[r] = Nothing; unproved[M.number] = false;
		holds(NotSent, M.number) }
	// The attempt ends at its deadline.
	:: atomic { M.step == Awaiting && over >= M.number ->
		printf("replica %d: attempt %d has no answer\n", r, M.number);
		reply[r] = Nothing;
		holds(Ambiguous, M.number) }
	// The connection breaks; what is on its way may still arrive.
	:: atomic { M.step == Awaiting && FAULT ->
		fault();
		printf("replica %d: the connection of attempt %d breaks\n", r, M.number);
		reply[r] = Nothing;
		holds(Ambiguous, M.number) }

	// ------------------------------------------------------------------ the crash
	:: atomic { crashes < CRASHES && (M.step != Idle || M.outcome != Nothing) ->
		crashes++;
		printf("replica %d crashes and starts again\n", r);
		M.step = Idle; M.number = 0; forget(); reply[r] = Nothing; behind[r] = false;
		if :: object.holder == r -> object.holder = STRANGER :: else fi;
		if :: cache[0].holder == r -> cache[0].holder = STRANGER :: else fi;
		if :: cache[1].holder == r -> cache[1].holder = STRANGER :: else fi }

	// --------------------------------------------------------------------- at rest
	:: atomic { IDLE && M.outcome == Nothing && C.phase != Pending -> break }
	od
}

// The watch of each replica: it brings the latest object, at some time.
inline refresh(r) {
	C.number = object.number; C.holder = object.holder; C.attempts = object.attempts;
	C.delivered = object.delivered; C.phase = object.phase; C.task = object.task;
	current[r] = true; behind[r] = false
}

proctype Informer() {
end:
	do
	:: atomic { !current[0] -> refresh(0) }
	:: atomic { !current[1] -> refresh(1) }
	od
}

// The agent and the network before it. A copy arrives, is lost, or is turned down.
inline answer(what, which) {
	if
	:: mem[0].step == Awaiting && mem[0].number == which && reply[0] == Nothing -> reply[0] = what
	:: mem[1].step == Awaiting && mem[1].number == which && reply[1] == Nothing -> reply[1] = what
	:: else // its sender has given up or crashed
	fi
}

inline accept(which) {
	if
#ifdef DEDUP
	:: seen[ID(which)] -> printf("agent: has attempt %d's message already\n", which)
#endif
	:: !seen[ID(which)] ->
		if :: tasks < 3 -> tasks++ :: else fi;
		printf("agent: attempt %d makes task %d\n", which, tasks);
#ifdef DEDUP
		seen[ID(which)] = true;
#endif
		ASSERT_TASK(tasks <= 1);
		ASSERT_TRUTH(object.phase != Undelivered)
	fi
}

inline arrives(which) {
	flight[which]--;
	if
	:: true -> accept(which); answer(Accepted, which)
	:: FAULT -> fault(); accept(which); printf("network: the answer to attempt %d is lost\n", which)
	:: FAULT -> fault(); printf("network: attempt %d is lost\n", which)
#ifdef DEDUP
	:: FAULT && !seen[ID(which)] -> // a 429; it says nothing about other copies
#else
	:: FAULT ->
#endif
		fault(); printf("agent: turns attempt %d down\n", which); answer(NotSent, which)
	fi;
	LOOK_FOR
}

proctype Agent() {
	byte n, rest;
end:
	do
	:: atomic { FLYING > 0 ->
		// Any of those that are on their way.
		n = 1; rest = FLYING;
		do
		:: flight[n] > 0 -> break
		:: rest > flight[n] -> rest = rest - flight[n]; n++
		od;
		arrives(n);
		n = 0; rest = 0 }
	od
}

// Time. The deadline of an attempt does not pass between the last check and the
// write (see README.md). That it passes before somebody who is alive is done is a
// fault. It has settled when nothing of it is on its way any more.
#define BETWEEN(q, n) (mem[q].step == Checked && mem[q].number == (n))
#define SLOW(q, n)    (mem[q].number == (n) && (mem[q].step == Fenced || (mem[q].step == Awaiting && (flight[n] > 0 || reply[q] != Nothing))))
#define PASSES        (over < last && !BETWEEN(0, over + 1) && !BETWEEN(1, over + 1))
#define LATE          (SLOW(0, over + 1) || SLOW(1, over + 1))

proctype Clock() {
end:
	do
	:: atomic { PASSES && !LATE -> over++; printf("time: the deadline of attempt %d is over\n", over) }
	:: atomic { PASSES && LATE && FAULT -> fault(); over++; printf("time: the deadline of attempt %d is over, while it is under way\n", over) }
#ifdef SEARCH
	:: atomic { settled < over && flight[settled + 1] == 0 -> settled++; printf("time: attempt %d has settled\n", settled) }
#endif
#ifdef DELIVERY_END
	:: atomic { !ended -> ended = true; printf("time: deliveryDeadline is over\n") }
#endif
	od
}

init {
	atomic {
		object.phase = Pending; object.delivered = Maybe; object.holder = STRANGER;
		refresh(0); refresh(1);
		byte r = 0;
		do
		:: r < 2 -> M.step = Idle; M.outcome = Nothing; reply[r] = Nothing; r++
		:: else -> break
		od;
		r = 0;
		run Replica(0); run Replica(1); run Informer(); run Agent(); run Clock()
	}
}

#ifdef P_DONE
#if (defined(DEDUP) || defined(AUTHORITATIVE)) && !defined(DELIVERY_END)
ltl done { <> (object.phase == Bound) }
#else
ltl done { <> DONE }
#endif
#endif
