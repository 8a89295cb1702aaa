import { afterAll, describe, expect, test } from 'bun:test';
import { readFileSync, readlinkSync } from 'node:fs';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { readerIsolation } from '../../src/adapters/document-reader/isolation.ts';
import { createDocumentReader, startReadingChild } from '../../src/adapters/document-reader/reader-pool.ts';
import { makePdf } from '../doubles/made-up-documents.ts';
import { createRecordingLog } from '../doubles/recording-log.ts';

/** As code that has taken over a reading process would: without the globals that the reader removes. */
const EXFILTRATE = `
  const { connect } = require('node:net');
  const socket = connect(Number(process.argv[1]), '127.0.0.1');
  socket.once('connect', () => { socket.end('the document'); process.exit(0); });
  socket.once('error', () => process.exit(3));`;

const through = readerIsolation();

describe.skipIf(through.length === 0)('code that a document injects into its reader', () => {
  test('reaches no address, not even one of this machine', async () => {
    let connections = 0;
    const open = () => {
      connections += 1;
    };
    const socket = { open, data() {} };
    const server = Bun.listen({ hostname: '127.0.0.1', port: 0, socket });
    const run = (words: readonly string[]) =>
      Bun.spawn([...words, process.execPath, '-e', EXFILTRATE, String(server.port)], { env: {} }).exited;
    expect(await run([])).toBe(0);
    expect(await run(through)).toBe(3);
    expect(connections).toBe(1);
    server.stop(true);
  });

  test('is in a network namespace of its own without an interface that is up', async () => {
    const child = startReadingChild();
    expect(await child.ready).toBe('ready');
    for (const kind of ['net', 'user', 'ipc', 'uts']) {
      const own = readlinkSync(`/proc/self/ns/${kind}`);
      expect([kind, readlinkSync(`/proc/${child.pid}/ns/${kind}`) !== own]).toEqual([kind, true]);
    }
    const routes = readFileSync(`/proc/${child.pid}/net/route`, 'utf8').trim().split('\n');
    expect(routes).toHaveLength(1);
    await child.kill();
  });
});

describe('where namespaces are not permitted', () => {
  const { log, entries } = createRecordingLog();
  const reader = createDocumentReader({ clock: createSystemClock(), log, isolation: () => [] });
  afterAll(() => reader.close());

  test('documents are still read, and the log says once what is missing', async () => {
    const document = makePdf([[{ x: 72, y: 700, text: 'Ada Lovelace' }]]);
    const both = await Promise.all([reader.read(document), reader.read(document)]);
    for (const reading of both) expect(reading).toMatchObject({ outcome: 'read', text: 'Ada Lovelace' });
    expect(entries.filter(({ message }) => message.startsWith('document readers share'))).toHaveLength(1);
  });
});
