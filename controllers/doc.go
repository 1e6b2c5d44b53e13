// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllers joins the API server and the agents to the decision in internal/outbox: it gathers what is known
// of a Delegation, asks for the one next action, performs it, and asks again.
package controllers

// +kubebuilder:rbac:groups=a2a.delegation.dev,resources=delegations,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=a2a.delegation.dev,resources=delegations/status,verbs=update
// +kubebuilder:rbac:groups=a2a.delegation.dev,resources=delegations/finalizers,verbs=update
// +kubebuilder:rbac:groups=a2a.delegation.dev,resources=remoteagents,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=a2a.delegation.dev,resources=remoteagents/finalizers,verbs=update
// +kubebuilder:rbac:groups=a2a.delegation.dev,resources=remoteagents/status,verbs=update
// +kubebuilder:rbac:groups=a2a.delegation.dev,resources=delegationschedules,verbs=get;list;watch
// +kubebuilder:rbac:groups=a2a.delegation.dev,resources=delegationschedules/finalizers,verbs=update
// +kubebuilder:rbac:groups=a2a.delegation.dev,resources=delegationschedules/status,verbs=update
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;update;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
