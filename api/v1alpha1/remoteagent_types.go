// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RemoteAgent says where an A2A agent is, who we are to it, and what its owner promised.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ra,categories=a2a
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Deduplication",type=string,JSONPath=`.status.deduplication.mode`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="URL",type=string,priority=1,JSONPath=`.status.endpoint.url`
type RemoteAgent struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec RemoteAgentSpec `json:"spec"`
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status RemoteAgentStatus `json:"status,omitzero"`
}

// RemoteAgentSpec describes an agent.
//
// +kubebuilder:validation:XValidation:rule="has(self.cardURL) || (has(self.interfaces) && self.interfaces.size() > 0)",message="set cardURL, the address of the agent's card, or interfaces, the endpoints by hand"
// +kubebuilder:validation:XValidation:rule="!has(self.tls) || ((!has(self.cardURL) || self.cardURL.startsWith('https:')) && (!has(self.interfaces) || self.interfaces.all(i, i.url.startsWith('https:'))))",message="tls has no meaning for http: give https URLs in cardURL and interfaces, or remove tls"
// +kubebuilder:validation:XValidation:rule="!has(self.verification) || (has(self.cardURL) && (!has(self.interfaces) || self.interfaces.size() == 0))",message="verification is of the agent's card, and with interfaces no card is read: set cardURL and remove interfaces, or remove verification"
type RemoteAgentSpec struct {
	// CardURL is the agent's base URL or the URL of its agent card. A base URL is completed with
	// /.well-known/agent-card.json (A2A 1.0, section 8.2); where that is not found, with /.well-known/agent.json, the place
	// of older agents.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != '' && !self.matches('^[a-z]+://[^/?#]*@')",message="cardURL must be an absolute http or https URL without credentials, such as https://finance.example.com"
	CardURL string `json:"cardURL,omitempty"`
	// Interfaces are the agent's endpoints, best first. They win over the card's; with them no card is needed.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Interfaces []AgentInterface `json:"interfaces,omitempty"`
	// Authentication is who the operator is to the agent.
	//
	// +optional
	Authentication *Authentication `json:"authentication,omitempty"`
	// TLS says whom the operator trusts to be the agent, and who it is by certificate. It needs https URLs.
	//
	// +optional
	TLS *TLS `json:"tls,omitempty"`
	// Verification says which keys the agent's card has to be signed by. Without it a card is believed as it comes.
	//
	// +optional
	Verification *Verification `json:"verification,omitempty"`
	// Contract is what the agent's owner promised. No field of the agent card carries it.
	//
	// +optional
	// +kubebuilder:default={}
	Contract Contract `json:"contract,omitzero"`
	// Delivery limits what is sent to the agent.
	//
	// +optional
	// +kubebuilder:default={}
	Delivery Delivery `json:"delivery,omitzero"`
	// Updates says how the tasks are followed.
	//
	// +optional
	// +kubebuilder:default={}
	Updates Updates `json:"updates,omitzero"`
	// AllowedNamespaces are those whose Delegations may name this RemoteAgent. Its own namespace always may.
	//
	// +optional
	// +kubebuilder:default={}
	AllowedNamespaces AllowedNamespaces `json:"allowedNamespaces,omitzero"`
}

// AgentInterface is one endpoint of an agent (A2A 1.0, AgentInterface).
//
// +kubebuilder:validation:XValidation:rule="!has(self.protocolVersion) || !self.protocolVersion.startsWith('0') || !has(self.protocolBinding) || self.protocolBinding == 'JSONRPC'",message="A2A 0.3 is spoken over JSONRPC only: set protocolBinding to JSONRPC, or protocolVersion to the 1.x that the agent speaks over this binding"
// +kubebuilder:validation:XValidation:rule="!has(self.protocolVersion) || !self.protocolVersion.startsWith('0') || !has(self.tenant) || size(self.tenant) == 0",message="A2A 0.3 knows no tenant: remove tenant, or set protocolVersion to 1.x"
type AgentInterface struct {
	// URL of the endpoint.
	//
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != '' && !self.matches('^[a-z]+://[^/?#]*@')",message="url must be an absolute http or https URL without credentials, such as https://finance.example.com/a2a"
	URL string `json:"url"`
	// ProtocolBinding of the endpoint.
	//
	// +optional
	// +kubebuilder:default=JSONRPC
	// +kubebuilder:validation:Enum=JSONRPC;HTTP+JSON;GRPC
	ProtocolBinding string `json:"protocolBinding,omitempty"`
	// ProtocolVersion of the endpoint: 1.x, or 0.3 over JSONRPC.
	//
	// +optional
	// +kubebuilder:default="1.0"
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^(1(\.[0-9]+){0,2}|0\.3(\.[0-9]+)?)$`
	ProtocolVersion string `json:"protocolVersion,omitempty"`
	// Tenant is sent with every request, where the agent serves several.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Tenant string `json:"tenant,omitempty"`
}

// Contract is what the agent's owner promised about messages that are sent twice and tasks that are looked up.
type Contract struct {
	// Deduplication of messages by messageId.
	//
	// +optional
	Deduplication *Deduplication `json:"deduplication,omitempty"`
	// TaskLookup is what ListTasks proves. Over A2A 0.3, which has no ListTasks, its mode counts as None.
	//
	// +optional
	// +kubebuilder:default={}
	TaskLookup TaskLookup `json:"taskLookup,omitzero"`
	// ContextID says who names the conversation. With Client the operator names it where a Delegation does not; with Server
	// it leaves that to the agent, and lost tasks are looked up by time.
	//
	// +optional
	// +kubebuilder:default=Client
	ContextID ContextIDOwner `json:"contextId,omitempty"`
	// WhileWorking says whether a message that continues a task may be sent while the agent works on it, or waits until the
	// agent asks.
	//
	// +optional
	// +kubebuilder:default=Wait
	WhileWorking WhileWorking `json:"whileWorking,omitempty"`
}

// ContextIDOwner says who names a conversation.
//
// +kubebuilder:validation:Enum=Client;Server
type ContextIDOwner string

// The owners of contextIds.
const (
	ContextIDClient ContextIDOwner = "Client"
	ContextIDServer ContextIDOwner = "Server"
)

// WhileWorking says what becomes of a message to a task that is being worked on.
//
// +kubebuilder:validation:Enum=Wait;Send
type WhileWorking string

// The ways with a task that is being worked on.
const (
	WhileWorkingWait WhileWorking = "Wait"
	WhileWorkingSend WhileWorking = "Send"
)

// DeduplicationMode says what an agent does with a messageId that it has seen.
//
// +kubebuilder:validation:Enum=None;MessageID
type DeduplicationMode string

// The deduplication modes.
const (
	// DeduplicationNone: a message that is sent twice makes two tasks.
	DeduplicationNone DeduplicationMode = "None"
	// DeduplicationMessageID: a message that is sent twice, by the same caller and with the same messageId and body, is
	// one task.
	DeduplicationMessageID DeduplicationMode = "MessageID"
)

// Deduplication is the promise about messages that are sent twice. When it is absent the agent card's
// message-deduplication extension decides, and without that the mode is None.
type Deduplication struct {
	// Mode of deduplication.
	Mode DeduplicationMode `json:"mode"`
	// Retention is how long the agent remembers a messageId, as a Go duration. After it the message is not sent again.
	//
	// +optional
	// +kubebuilder:default="72h"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="retention must be at least 1s"
	Retention metav1.Duration `json:"retention,omitzero"`
}

// LookupMode says what it proves when ListTasks does not show a message.
//
// +kubebuilder:validation:Enum=None;BestEffort;Authoritative
type LookupMode string

// The lookup modes.
const (
	// LookupNone: the agent is not asked for a lost task.
	LookupNone LookupMode = "None"
	// LookupBestEffort: a task that is found is the message's; one that is not found proves nothing.
	LookupBestEffort LookupMode = "BestEffort"
	// LookupAuthoritative: a message that is not found was never accepted, so that it may be sent again.
	LookupAuthoritative LookupMode = "Authoritative"
)

// TaskLookup is what the agent's ListTasks proves about a message whose response was lost.
type TaskLookup struct {
	// Mode of lookup.
	//
	// +optional
	// +kubebuilder:default=BestEffort
	Mode LookupMode `json:"mode,omitempty"`
	// Settle is how long after an attempt's deadline a task may still appear in ListTasks, as a Go duration.
	//
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="settle must not be negative"
	Settle metav1.Duration `json:"settle,omitzero"`
}

// Delivery limits what is sent to the agent.
type Delivery struct {
	// AttemptTimeout bounds one attempt, from just before the first byte to the answer, as a Go duration.
	//
	// +optional
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('100ms') && duration(self) <= duration('1h')",message="attemptTimeout must be from 100ms to 1h"
	AttemptTimeout metav1.Duration `json:"attemptTimeout,omitzero"`
	// MaxInFlight bounds the calls that are out to the agent at once, and apart from these the streams that are open.
	//
	// +optional
	// +kubebuilder:default=16
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxInFlight int32 `json:"maxInFlight,omitempty"`
	// RequestsPerSecond bounds the rate of calls to the agent.
	//
	// +optional
	// +kubebuilder:default=50
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	RequestsPerSecond int32 `json:"requestsPerSecond,omitempty"`
}

// UpdateMode says how the operator hears that a task may have changed. Whatever it hears, it asks the agent what is true.
//
// +kubebuilder:validation:Enum=Auto;Poll;Subscribe;Push
type UpdateMode string

// The ways of hearing from an agent.
const (
	// UpdatesAuto: what the agent's card offers and the operator can take: push notifications and streams, next to looks at
	// intervals.
	UpdatesAuto UpdateMode = "Auto"
	// UpdatesPoll: no streams and no push notifications.
	UpdatesPoll UpdateMode = "Poll"
	// UpdatesSubscribe: streams, whatever the card says.
	UpdatesSubscribe UpdateMode = "Subscribe"
	// UpdatesPush: push notifications, where the card says pushNotifications or there is no card.
	UpdatesPush UpdateMode = "Push"
)

// Updates says how tasks are followed.
type Updates struct {
	// Mode says how changes are heard of. With Auto tasks are subscribed to where the agent card says streaming, and the
	// agent is asked for push notifications where its card says pushNotifications and the operator has a URL for them
	// (--push-url). With Subscribe only streams are used, whatever the card says. With Push only push notifications are,
	// where the card says pushNotifications or there is no card, as for an endpoint that is given by hand. With Poll there
	// is neither. Tasks are looked at in any case, since a change may not be told. At most
	// delivery.maxInFlight streams are open to the agent at once, next to its calls; the tasks beyond are polled.
	//
	// +optional
	// +kubebuilder:default=Auto
	Mode UpdateMode `json:"mode,omitempty"`
	// PollInterval is the shortest time between two looks at one task that nothing was heard of, as a Go duration. It grows
	// while nothing changes, and is maxPollInterval while the task has a stream.
	//
	// +optional
	// +kubebuilder:default="2s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('100ms')",message="pollInterval must be at least 100ms"
	PollInterval metav1.Duration `json:"pollInterval,omitzero"`
	// MaxPollInterval is what it grows to, as a Go duration. At an agent that lists which tasks changed, looks at single
	// tasks may be rarer still.
	//
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('100ms')",message="maxPollInterval must be at least 100ms"
	MaxPollInterval metav1.Duration `json:"maxPollInterval,omitzero"`
}

// RemoteAgentList is a list of RemoteAgents.
//
// +kubebuilder:object:root=true
type RemoteAgentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RemoteAgent `json:"items"`
}
