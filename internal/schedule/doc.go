// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schedule decides what a DelegationSchedule does now: which run begins, which are canceled, which are removed. It is
// pure: the time and the runs are arguments, and the same input gives the same plan.
//
// Nothing here makes a firing happen once. Three things do. The run of a firing has one name, so that there is one object of
// it. status.lastScheduleTime is written with the resourceVersion that was decided on, before and after the run is created,
// so that who decided on an old status creates nothing. And the messageId is a function of the schedule's name and the time,
// so that a firing which is repeated after all, by a restored cluster or a second one, is the same message to the agent.
package schedule
