// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Serving on a free port of loopback, and saying where.

import { createServer } from 'node:http';
import { rename, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import express from 'express';

const { values: flags } = parseArgs({
  options: { listen: { type: 'string', default: '127.0.0.1:0' }, 'address-file': { type: 'string' } },
});

/**
 * Listens where the flag --listen says, any free port by default, lets mount add the agent to the express app, and writes
 * the base URL to the file of --address-file and to standard error.
 */
export async function serve(mount) {
  const app = express();
  const server = createServer(app);
  const [host, port] = flags.listen.split(':');
  await new Promise((resolve, reject) => server.once('error', reject).listen(Number(port), host, resolve));
  const url = `http://${host}:${server.address().port}`;
  mount(app, url);
  process.once('SIGTERM', () => {
    server.close(() => process.exit(0));
    server.closeAllConnections();
  });
  if (flags['address-file']) {
    // It appears complete or not at all, so that nobody reads half of it.
    await writeFile(`${flags['address-file']}.new`, `${url}\n`);
    await rename(`${flags['address-file']}.new`, flags['address-file']);
  }
  console.error(`listening on ${url}`);
}
