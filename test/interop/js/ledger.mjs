// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// What the agent saw and did of each message: GET /admin/ledger. The members are those of the finance agent's
// ledger, and executed.

export class Ledger {
  #records = new Map();

  #record(messageId) {
    let r = this.#records.get(messageId);
    if (!r) {
      r = { messageId, principal: '', received: 0, executed: 0, accepted: 0, taskIds: [], continued: 0, replied: 0, bodies: new Set() };
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

  /** Express middleware that counts the requests which carry a message. It reads along and leaves the body to the SDK. */
  watch = (req, _res, next) => {
    const body = [];
    req.on('data', (chunk) => body.push(chunk));
    req.on('end', () => this.#received(Buffer.concat(body).toString()));
    next();
  };

  #received(body) {
    let message;
    try {
      const request = JSON.parse(body);
      message = (request.params ?? request).message;
    } catch {
      return; // the SDK will say so
    }
    if (!message?.messageId) return;
    const r = this.#record(message.messageId);
    r.received++;
    r.bodies.add(JSON.stringify(message));
  }

  /** Express handler that shows the records in the order in which their messages were first seen. */
  show = (_req, res) => res.json([...this.#records.values()].map((r) => ({ ...r, bodies: r.bodies.size })));
}
