// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// An agent on the JavaScript SDK for A2A 1.0, over JSON-RPC and HTTP+JSON. The SDK's server does not deduplicate.

import { randomUUID } from 'node:crypto';
import { AGENT_CARD_PATH, Role, TaskState } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { UserBuilder, agentCardHandler, jsonRpcHandler, restHandler } from '@a2a-js/sdk/server/express';
import { Executor } from './executor.mjs';
import { Ledger } from './ledger.mjs';
import { serve } from './serve.mjs';

const states = {
  submitted: TaskState.TASK_STATE_SUBMITTED,
  working: TaskState.TASK_STATE_WORKING,
  completed: TaskState.TASK_STATE_COMPLETED,
  failed: TaskState.TASK_STATE_FAILED,
  canceled: TaskState.TASK_STATE_CANCELED,
  rejected: TaskState.TASK_STATE_REJECTED,
  'input-required': TaskState.TASK_STATE_INPUT_REQUIRED,
};

const textPart = (value) => ({ content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: 'text/plain' });

function agentMessage({ taskId, contextId }, text) {
  return {
    messageId: randomUUID(), contextId, taskId, role: Role.ROLE_AGENT, parts: [textPart(text)],
    metadata: undefined, extensions: [], referenceTaskIds: [],
  };
}

const status = (call, state, text) => ({ state: states[state], timestamp: new Date().toISOString(), message: text && agentMessage(call, text) });

const dialect = {
  textOf: (message) => message.parts.map((p) => (p.content?.$case === 'text' ? p.content.value : '')).join(' '),
  submit: (call, bus) => bus.publish(AgentEvent.task({
    id: call.taskId, contextId: call.contextId, artifacts: [], history: [call.userMessage], metadata: undefined,
    status: status(call, 'submitted'),
  })),
  // The SDK wants a task before anything else, also where it is there already.
  resume: (call, bus) => bus.publish(AgentEvent.task({ ...call.task, status: status(call, 'working') })),
  publish(call, bus, { reply, artifact, state, text }) {
    const { taskId, contextId } = call;
    if (reply !== undefined) {
      bus.publish(AgentEvent.message({ ...agentMessage(call, reply), taskId: '' }));
    } else if (artifact) {
      bus.publish(AgentEvent.artifactUpdate({
        taskId, contextId, append: artifact.append, lastChunk: artifact.last, metadata: undefined,
        artifact: { artifactId: 'answer', name: 'answer.txt', description: '', parts: [textPart(artifact.text)], metadata: undefined, extensions: [] },
      }));
    } else {
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(call, state, text), metadata: undefined }));
    }
  },
  end() {}, // the SDK does
};

const interfaceAt = (url, protocolBinding) => ({ url, protocolBinding, protocolVersion: '1.0', tenant: '' });

const card = (url) => ({
  name: 'Interop agent (JavaScript)', description: 'Does what its messages say.', version: '1.0.0', provider: undefined,
  supportedInterfaces: [interfaceAt(`${url}/a2a`, 'JSONRPC'), interfaceAt(`${url}/rest`, 'HTTP+JSON')],
  capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: false, extensions: [] },
  defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'],
  skills: [{ id: 'do', name: 'Do', description: 'Does as told.', tags: ['test'], examples: ['complete'], inputModes: [], outputModes: [], securityRequirements: [] }],
  securitySchemes: {}, securityRequirements: [], signatures: [],
});

await serve((app, url) => {
  const ledger = new Ledger();
  const executor = new Executor(ledger, dialect);
  // With pushNotifications in its card the SDK brings a store and a sender of its own.
  const requestHandler = new DefaultRequestHandler(card(url), new InMemoryTaskStore(), executor);
  const userBuilder = UserBuilder.noAuthentication;
  app.use(`/${AGENT_CARD_PATH}`, agentCardHandler({ agentCardProvider: requestHandler }));
  app.use('/a2a', ledger.watch, jsonRpcHandler({ requestHandler, userBuilder }));
  app.use('/rest', ledger.watch, restHandler({ requestHandler, userBuilder }));
  app.get('/admin/ledger', ledger.show);
  app.post('/admin/release/:taskId', executor.release);
});
