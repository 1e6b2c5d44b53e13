// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// What the SDKs of both protocol versions call to have a message worked on.

import { behave } from './behaviour.mjs';

export class Executor {
  #ledger;
  #dialect;
  #running = new Map(); // taskId → {controller, contextId, release}, for the life of the process

  /** A dialect says things in a version's words: textOf(message), and submit, resume, publish and end on a bus. */
  constructor(ledger, dialect) {
    this.#ledger = ledger;
    this.#dialect = dialect;
  }

  async execute(call, bus) {
    const controller = new AbortController();
    let release;
    const released = new Promise((resolve) => { release = resolve; });
    this.#running.set(call.taskId, { controller, contextId: call.contextId, release });
    this.#ledger.executed(call.userMessage.messageId);
    let begun = false;
    try {
      for await (const step of behave(this.#dialect.textOf(call.userMessage), call.task !== undefined, controller.signal, released)) {
        if (!begun) this.#begin(call, bus, step);
        begun = true;
        this.#dialect.publish(call, bus, step);
      }
    } catch (e) {
      if (!begun) this.#ledger.accepted(call.userMessage.messageId, call.taskId); // the SDK makes a failed task
      throw e;
    }
    this.#dialect.end(bus);
  }

  #begin(call, bus, step) {
    const { messageId } = call.userMessage;
    if (step.reply !== undefined) {
      this.#ledger.replied(messageId);
    } else if (call.task) {
      this.#ledger.continued(messageId);
      this.#dialect.resume(call, bus);
    } else {
      this.#ledger.accepted(messageId, call.taskId);
      this.#dialect.submit(call, bus);
    }
  }

  async cancelTask(taskId, bus) {
    const { controller, contextId, release } = this.#running.get(taskId);
    controller.abort();
    release();
    this.#dialect.publish({ taskId, contextId }, bus, { state: 'canceled' });
    this.#dialect.end(bus);
  }

  /** Express handler that ends the wait of the task in the path. */
  release = (req, res) => {
    const task = this.#running.get(req.params.taskId);
    task?.release();
    res.sendStatus(task ? 204 : 404);
  };
}
