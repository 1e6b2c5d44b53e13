// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// What the agent saw and did of each message: GET /admin/ledger. The members are those of the finance agent's
// ledger, and executed and subscribed.

// How a stream of a task is asked for: HTTP+JSON's path, and JSON-RPC's methods in A2A 1.0 and 0.3.
const subscription = /\/tasks\/([^/:]+):subscribe$/;
const subscribes = new Set(['SubscribeToTask', 'tasks/resubscribe']);

export class Ledger {
  #records = new Map();

  #record(messageId) {
    let r = this.#records.get(messageId);
    if (!r) {
      r = { messageId, principal: '', received: 0, executed: 0, accepted: 0, taskIds: [], continued: 0, replied: 0, subscribed: 0, bodies: new Set() };
      this.#records.set(messageId, r);
    }
    return r;
  }

  /** The executor was called with the message. */
  executed(messageId) { this.#record(messageId).executed++; }

  /** A task was made of the message. */
  accepted(messageId, taskId) {
    const r = this.#record(messageId);
    r.accepted++;
    r.taskIds.push(taskId);
  }

  /** A task went on with the message. */
  continued(messageId) { this.#record(messageId).continued++; }

  /** The message was answered without a task. */
  replied(messageId) { this.#record(messageId).replied++; }

  #subscribed(taskId) {
    for (const r of this.#records.values()) if (r.taskIds.includes(taskId)) r.subscribed++;
  }

  /**
   * Express middleware that counts the requests which carry a message, and those which open a stream of a task. It reads
   * along and leaves the body to the SDK.
   */
  watch = (req, _res, next) => {
    const [, taskId] = req.path.match(subscription) ?? [];
    if (taskId) this.#subscribed(taskId);
    const body = [];
    req.on('data', (chunk) => body.push(chunk));
    req.on('end', () => this.#received(Buffer.concat(body).toString()));
    next();
  };

  #received(body) {
    let request;
    try {
      request = JSON.parse(body);
    } catch {
      return; // the SDK will say so
    }
    if (subscribes.has(request.method)) this.#subscribed(request.params?.id);
    const { message } = request.params ?? request;
    if (!message?.messageId) return;
    const r = this.#record(message.messageId);
    r.received++;
    r.bodies.add(JSON.stringify(message));
  }

  /** Express handler that shows the records in the order in which their messages were first seen. */
  show = (_req, res) => res.json([...this.#records.values()].map((r) => ({ ...r, bodies: r.bodies.size })));
}
