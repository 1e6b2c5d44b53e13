// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// What the agents do, whatever the protocol's version: the first word of a message's text chooses. goagent/behaviour.go has
// the same list.
//
//   complete     an artifact at once, and the end
//   work MS      the same after so many milliseconds of work, unless it is canceled
//   wait         the same after POST /admin/release/TASK, unless it is canceled
//   ask          a question; the message that answers it completes the task
//   refuse       the task is rejected
//   reply        a message, and no task
//   stream N     an artifact in N chunks, and the end
//   throw        the executor fails with an error of its own

import { setTimeout as sleep } from 'node:timers/promises';

const chunkPause = 100; // ms

/**
 * Yields what is to be published, in order: {reply}, {state, text} or {artifact: {text, append, last}}.
 * It ends early, without a word, when the signal aborts. released is a promise for the end of a wait.
 */
export async function* behave(text, isAnswer, signal, released) {
  if (isAnswer) {
    yield* result(`The answer is: ${text}`);
    return;
  }
  const [command, argument] = text.trim().split(/\s+/);
  switch (command) {
    case 'complete':
      yield* result('42');
      return;
    case 'work':
      yield { state: 'working' };
      if (await pause(Number(argument), signal)) yield* result('42');
      return;
    case 'wait':
      yield { state: 'working' };
      await released;
      if (!signal.aborted) yield* result('42');
      return;
    case 'ask':
      yield { state: 'input-required', text: 'Which month?' };
      return;
    case 'refuse':
      yield { state: 'rejected', text: 'This is not for me.' };
      return;
    case 'reply':
      yield { reply: 'pong' };
      return;
    case 'stream':
      yield* chunks(Number(argument), signal);
      return;
    case 'throw':
      throw new Error('told to throw');
    default:
      yield { state: 'failed', text: `unknown command ${JSON.stringify(command)}` };
  }
}

function* result(text) {
  yield { artifact: { text, append: false, last: true } };
  yield { state: 'completed' };
}

async function* chunks(count, signal) {
  yield { state: 'working' };
  for (let n = 1; n <= count; n++) {
    if (!(await pause(chunkPause, signal))) return;
    yield { artifact: { text: `chunk ${n}\n`, append: n > 1, last: n === count } };
  }
  yield { state: 'completed' };
}

/** Reports whether the time passed without an abort. */
async function pause(ms, signal) {
  try {
    await sleep(ms, undefined, { signal });
    return true;
  } catch (e) {
    if (signal.aborted) return false;
    throw e;
  }
}
