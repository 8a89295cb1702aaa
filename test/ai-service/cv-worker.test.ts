import { afterEach, describe, expect, test } from 'bun:test';
import { listTalents } from '../../src/domain/talents/talent.ts';
import { createTalent } from '../../src/domain/talents/talent-changes.ts';
import { Crash, crashingDatabase } from '../doubles/crashing-database.ts';
import { CV_TEXT, chatAnswer, jobOf, openWorkers, type WorkersUnderTest } from './workers-under-test.ts';

let workers: WorkersUnderTest;
afterEach(() => workers.close());

async function upload(text: string): Promise<string> {
  const { database, companyId } = workers;
  const jobQueue = { enqueue: async () => null };
  const from = { file: { name: 'cv.txt', bytes: new TextEncoder().encode(text) } };
  const created = await database.transaction((transaction) =>
    createTalent(transaction, { ...workers, jobQueue }, { companyId, createdBy: null, from }),
  );
  if (created.outcome !== 'created') throw new Error(created.message);
  return created.talent.id;
}

const talents = () => listTalents(workers.database, workers.companyId, { limit: 100, after: null });
const balance = async () => (await workers.credits.level()).balanceMicro;

const PROFILE = {
  document_kind: 'cv',
  basics: { name: 'Ada Byron', email: 'ada.byron@example.org', label: 'Software Engineer' },
  work: [
    {
      name: 'Analytical Engines Ltd',
      position: 'Software Engineer',
      startDate: '2020-01',
      endDate: '2023-03',
    },
  ],
  education: [{ institution: 'University of London', studyType: 'BSc', area: 'Mathematics' }],
  skills: ['Python', 'Cobol'],
};

describe('the CV worker', () => {
  test('A-13 reads a CV without a provider, and the company is charged for the tokens, without a key', async () => {
    workers = await openWorkers();
    const before = await balance();
    const talentId = await upload(CV_TEXT);
    await workers.cv(jobOf({ talentId }));
    expect(await talents()).toMatchObject([
      { status: 'READY', email: 'ada.byron@example.org', engine: 'embedded', version: 2 },
    ]);
    const [call, ...more] = await workers.calls();
    expect([more.length, call?.key_id, call?.outcome, call?.endpoint]).toEqual([
      0,
      null,
      'SUCCEEDED',
      'parse/cv',
    ]);
    expect(call?.prompt_tokens).toBe(BigInt(CV_TEXT.length));
    expect(before - (await balance())).toBe(call?.charge_micro as bigint);
    expect(call?.charge_micro as bigint).toBeGreaterThan(0n);
    expect(await workers.credits.held()).toBe(0);
  });

  test('G-28 a provider’s answer is charged by its usage, and values that are not in the text are dropped', async () => {
    workers = await openWorkers({ hasProvider: true });
    workers.scripted.model = () => chatAnswer(PROFILE);
    const before = await balance();
    await workers.cv(jobOf({ talentId: await upload(CV_TEXT) }));
    const [talent] = await talents();
    expect(talent).toMatchObject({ status: 'READY', engine: 'model', name: 'Ada Byron' });
    expect(JSON.stringify(talent?.profile)).not.toContain('Cobol');
    // (100 - 10) * 1 + 10 * 0.5 + 50 * 4 credits a million tokens
    expect(before - (await balance())).toBe(295n);
    expect(await workers.calls()).toMatchObject([
      { outcome: 'SUCCEEDED', charge_micro: 295n, target_id: 'target-1' },
    ]);
  });

  test('G-28 the model is unavailable for the whole run: the embedded engine answers, and nothing is charged', async () => {
    workers = await openWorkers({ hasProvider: true });
    workers.scripted.model = () => new Error('away');
    const before = await balance();
    for (let number = 0; number < 7; number += 1) {
      await workers.cv(jobOf({ talentId: await upload(`${CV_TEXT}\nReference ${number}`) }));
    }
    expect((await talents()).map(({ status, engine }) => [status, engine])).toEqual(
      Array.from({ length: 7 }, () => ['READY', 'embedded']),
    );
    expect(await balance()).toBe(before);
    // after five failures the provider is not asked any more.
    expect([workers.scripted.asked, workers.breakers.states()]).toEqual([5, { 'provider.example': 'open' }]);
    expect((await workers.calls()).map(({ outcome }) => outcome)).toEqual(
      Array.from({ length: 7 }, () => 'FAILED'),
    );
  });

  test('G-28 without credits, it uses the embedded engine and calls no provider', async () => {
    workers = await openWorkers({ hasProvider: true, balanceMicro: 0n });
    await workers.cv(jobOf({ talentId: await upload(CV_TEXT) }));
    expect(await talents()).toMatchObject([{ status: 'READY', engine: 'embedded' }]);
    expect([workers.scripted.asked, await balance()]).toEqual([0, 0n]);
    expect(await workers.calls()).toMatchObject([{ outcome: 'REFUSED', reason: 'INSUFFICIENT_CREDITS' }]);
  });

  test('A-13 a document that crashes the parser is FAILED with a reason and does not block others', async () => {
    workers = await openWorkers();
    const { read } = workers.scripted;
    workers.scripted.read = (text) =>
      text.includes('poison')
        ? { outcome: 'unreadable', reason: 'encrypted', message: 'It needs a password.' }
        : read(text);
    const ids = [
      await upload('poison'),
      await upload(CV_TEXT),
      await upload('Please find attached our price list.'),
    ];
    for (const talentId of ids) await workers.cv(jobOf({ talentId }));
    expect((await talents()).map(({ status, problem }) => [status, problem])).toEqual([
      ['FAILED', expect.stringContaining('does not look like a CV')],
      ['READY', null],
      ['FAILED', 'It needs a password.'],
    ]);
  });

  test('A-13 a temporary failure is retried; past the last try it is FAILED, and can be redriven', async () => {
    workers = await openWorkers();
    const { read } = workers.scripted;
    workers.scripted.read = () => ({ outcome: 'busy', message: 'busy' });
    const talentId = await upload(CV_TEXT);
    const first = await workers.cv(jobOf({ talentId })).catch((error: unknown) => error);
    expect([(first as Error).message, (await talents())[0]?.status]).toEqual([
      'the document reader is busy',
      'PENDING',
    ]);
    await workers.cv(jobOf({ talentId }, 9)).catch(() => {});
    expect((await talents())[0]).toMatchObject({
      status: 'FAILED',
      problem: expect.stringContaining('internal error'),
    });
    workers.scripted.read = read;
    await workers.cv(jobOf({ talentId }));
    expect((await talents())[0]).toMatchObject({ status: 'READY', problem: null });
  });

  test('A-13 a reading that cannot be stored is FAILED past the last try, and does not wait for ever', async () => {
    workers = await openWorkers();
    const { database } = workers;
    const failing: typeof database = {
      ...database,
      transaction: (work) =>
        database.transaction((within) =>
          work({
            ...within,
            query: (text, values) =>
              text.startsWith('update talent_files')
                ? Promise.reject(new Error('it cannot be stored'))
                : within.query(text, values),
          }),
        ),
    };
    const talentId = await upload(CV_TEXT);
    const { cv } = workers.handlersOn(failing);
    for (const [attempt, status] of [
      [1, 'PENDING'],
      [9, 'FAILED'],
    ] as const) {
      await expect(cv(jobOf({ talentId }, attempt))).rejects.toThrow('it cannot be stored');
      expect((await talents())[0]?.status).toBe(status);
    }
    expect(await workers.credits.held()).toBe(0);
  });

  test('A-13 killed at every statement, nothing is lost, done twice or charged twice', async () => {
    workers = await openWorkers({ hasProvider: true });
    workers.scripted.model = () => chatAnswer(PROFILE);
    let crashes = 0;
    for (let at = 0; ; at += 1) {
      const [talentId, before] = [await upload(`${CV_TEXT}\nNumber ${at}`), await balance()];
      let isOver = true;
      for (const when of ['before', 'after'] as const) {
        const { database } = crashingDatabase(workers.database, { at, when });
        const error = await workers
          .handlersOn(database)
          .cv(jobOf({ talentId }))
          .catch((thrown: unknown) => thrown);
        if (error instanceof Crash) {
          isOver = false;
          crashes += 1;
        }
      }
      await workers.cv(jobOf({ talentId }));
      const versions = await workers.database.query(
        'select what from talent_versions where talent_id = $1 order by version',
        [talentId],
      );
      expect(versions.slice(0, 2)).toEqual([{ what: 'created' }, { what: 'parsed' }]);
      expect(before - (await balance())).toBe(295n);
      if (isOver) break;
    }
    expect(crashes).toBeGreaterThan(10);
  });

  test('A-13 a talent who was erased meanwhile is skipped', async () => {
    workers = await openWorkers();
    const talentId = await upload(CV_TEXT);
    await workers.database.query('delete from talents where id = $1', [talentId]);
    await workers.cv(jobOf({ talentId }));
    expect([await talents(), await workers.calls()]).toEqual([[], []]);
  });
});
