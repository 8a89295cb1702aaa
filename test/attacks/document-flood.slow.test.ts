import { describe, expect, test } from 'bun:test';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { openJobQueue } from '../../src/adapters/job-queue/pg-boss.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { addCompany } from '../../src/domain/accounts/company.ts';
import { createFairReader } from '../../src/domain/documents/fair-reader.ts';
import { createTalent } from '../../src/domain/talents/talent-changes.ts';
import type { DocumentReading } from '../../src/ports/document-reader.ts';
import { openEngine } from '../../src/start/wiring/open-models.ts';
import { CV_TEXT, openWorkers } from '../ai-service/workers-under-test.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';

/** As the bound of the reader would end it: after 20 seconds of a core, without a text. */
const TOO_LONG: DocumentReading = {
  outcome: 'unreadable',
  reason: 'took-too-long',
  message: 'It took too long.',
};
const READ: DocumentReading = { outcome: 'read', kind: 'text', text: CV_TEXT, pages: null, warnings: [] };

describe('a sign-up without credits uploads documents that are slow to read', () => {
  const workers = useResource(() => openWorkers({ balanceMicro: 0n }));

  test('another company’s CV is read while all of them still wait', async () => {
    const { database, secrets, clock, scripted, companyId, queueWork } = workers;
    const attacker = secrets.newId();
    await addCompany(database, { id: attacker, name: 'Flood', billingMode: 'PREPAID' });
    const queue = await openJobQueue({ database, log: createSilentLog() });
    try {
      const neverEnds = Promise.withResolvers<DocumentReading>();
      let slow = 0;
      scripted.read = (text) => {
        if (!text.startsWith('slow')) return { ...READ, text };
        slow += 1;
        return neverEnds.promise;
      };
      for (const work of queueWork(3)) {
        await queue.define(work.queue);
        await queue.work(work.queue.name, work, work.handler);
      }
      const send = async (owner: string, text: string) => {
        const file = { name: 'cv.txt', bytes: new TextEncoder().encode(text) };
        const made = await database.transaction((transaction) =>
          createTalent(
            transaction,
            { clock, secrets, jobQueue: queue },
            { companyId: owner, createdBy: null, from: { file } },
          ),
        );
        return made.outcome === 'created' ? made.talent.id : '';
      };
      for (let n = 0; n < 40; n += 1) await send(attacker, `slow ${n}`);
      await until(() => slow === 2);
      const id = await send(companyId, CV_TEXT);
      const statusOf = async () =>
        (await database.query<{ status: string }>('select status from talents where id = $1', [id]))[0]
          ?.status;
      await until(async () => (await statusOf()) === 'READY');
      expect(slow).toBe(2);
      neverEnds.resolve(TOO_LONG);
    } finally {
      await queue.stop(100);
    }
  });
});

test('by the parse route, a company that fills the reader and its queue does not block another', async () => {
  const held = Promise.withResolvers<DocumentReading>();
  const reader = createFairReader({
    ...{ clock: createManualClock(), places: 3 },
    reader: { read: async (bytes) => (bytes[0] === 0 ? await held.promise : READ) },
  });
  const flood = Array.from({ length: 200 }, () => reader.read('flood', new Uint8Array([0])));
  expect(await reader.read('other', new Uint8Array([1]))).toBe(READ);
  held.resolve(READ);
  const outcomes = (await Promise.all(flood)).map(({ outcome }) => outcome);
  expect(outcomes.filter((outcome) => outcome === 'busy').length).toBeGreaterThan(100);
  reader.close();
});

describe('texts by the parse route', () => {
  test('a company that sends long texts delays another’s by at most one of them', async () => {
    const closings: (() => void | Promise<void>)[] = [];
    const engine = openEngine({
      ...{ clock: createSystemClock(), log: createSilentLog(), secrets: createSystemSecrets() },
      whenClosing: (_name, close) => void closings.push(close),
    });
    const long = CV_TEXT.repeat(1_000).slice(0, 200_000);
    let answered = 0;
    const flood = Array.from({ length: 20 }, async () => {
      await engine.read('cv', long, 'flood');
      answered += 1;
    });
    await engine.read('cv', CV_TEXT, 'other');
    expect(answered).toBeLessThan(4);
    for (const close of closings) await close();
    await Promise.allSettled(flood);
  });
});
