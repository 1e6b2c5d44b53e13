// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// An agent on the JavaScript SDK for A2A 0.3, over JSON-RPC and HTTP+JSON. The SDK's server does not deduplicate and, as the
// protocol's version has it, lists no tasks.

import { randomUUID } from 'node:crypto';
import { AGENT_CARD_PATH } from 'a2a-js-sdk-v0';
import { DefaultRequestHandler, InMemoryTaskStore } from 'a2a-js-sdk-v0/server';
import { UserBuilder, agentCardHandler, jsonRpcHandler, restHandler } from 'a2a-js-sdk-v0/server/express';
import { Executor } from './executor.mjs';
import { Ledger } from './ledger.mjs';
import { serve } from './serve.mjs';

const textPart = (text) => ({ kind: 'text', text });
const finals = new Set(['completed', 'failed', 'canceled', 'rejected', 'input-required']);

const agentMessage = ({ taskId, contextId }, text) => ({
  kind: 'message', messageId: randomUUID(), role: 'agent', taskId, contextId, parts: [textPart(text)],
});

const status = (call, state, text) => ({ state, timestamp: new Date().toISOString(), message: text && agentMessage(call, text) });

const dialect = {
  textOf: (message) => message.parts.map((p) => (p.kind === 'text' ? p.text : '')).join(' '),
  submit: (call, bus) => bus.publish({
    kind: 'task', id: call.taskId, contextId: call.contextId, status: status(call, 'submitted'), history: [call.userMessage],
  }),
  resume() {},
  publish(call, bus, { reply, artifact, state, text }) {
    const { taskId, contextId } = call;
    if (reply !== undefined) {
      bus.publish({ ...agentMessage(call, reply), taskId: undefined });
    } else if (artifact) {
      bus.publish({
        kind: 'artifact-update', taskId, contextId, append: artifact.append, lastChunk: artifact.last,
        artifact: { artifactId: 'answer', name: 'answer.txt', parts: [textPart(artifact.text)] },
      });
    } else {
      bus.publish({ kind: 'status-update', taskId, contextId, status: status(call, state, text), final: finals.has(state) });
    }
  },
  end: (bus) => bus.finished(),
};

const card = (url) => ({
  name: 'Interop agent (JavaScript, A2A 0.3)', description: 'Does what its messages say.', version: '1.0.0', protocolVersion: '0.3.0',
  url: `${url}/a2a`, preferredTransport: 'JSONRPC',
  additionalInterfaces: [{ url: `${url}/a2a`, transport: 'JSONRPC' }, { url: `${url}/rest`, transport: 'HTTP+JSON' }],
  capabilities: { streaming: true, pushNotifications: true },
  defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'],
  skills: [{ id: 'do', name: 'Do', description: 'Does as told.', tags: ['test'], examples: ['complete'] }],
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
