// Package agent is the A2A side of the reconciliation: it reads the two tables from a message, runs the
// reconciliation as a task and hands the report out as artifacts.
//
// A task is worked on in steps. A step may end the task, and may do so in an interrupted state: the next
// message to the task starts the steps again with every message of the task at hand.
//
// Each step is in a [Journal] before it is executed. A run finds those of the runs before it there, also after a
// restart, and replays what they did instead of doing it again: see [StepKey] for what a step does outside.
package agent
