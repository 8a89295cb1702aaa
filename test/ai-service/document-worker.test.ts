import { afterEach, describe, expect, test } from 'bun:test';
import { listJobs } from '../../src/domain/jobs/job.ts';
import { changeJob, createJob, type NewJob } from '../../src/domain/jobs/job-changes.ts';
import { Crash, crashingDatabase } from '../doubles/crashing-database.ts';
import { chatAnswer, jobOf, openWorkers, POSTING_TEXT, type WorkersUnderTest } from './workers-under-test.ts';

let workers: WorkersUnderTest;
afterEach(() => workers.close());

const jobQueue = { enqueue: async () => null };
const fileOf = (text: string) => ({ name: 'posting.txt', bytes: new TextEncoder().encode(text) });

async function paste(text: string, fields: NewJob['fields'] = {}): Promise<string> {
  const { database, companyId } = workers;
  const wanted = { companyId, createdBy: null, fields, file: fileOf(text), draft: { title: 'Untitled' } };
  const created = await database.transaction((transaction) =>
    createJob(transaction, { ...workers, jobQueue }, wanted),
  );
  if (created.outcome !== 'created') throw new Error(created.message);
  return created.job.id;
}

const jobs = () => listJobs(workers.database, workers.companyId, { limit: 100, after: null, status: null });

describe('the document worker', () => {
  test('A-13 fills in a pasted posting, except for fields that a user has set', async () => {
    workers = await openWorkers();
    const jobId = await paste(POSTING_TEXT, { location: 'Hamburg' });
    await workers.document(jobOf({ jobId }));
    const [job] = await jobs();
    expect(job).toMatchObject({ status: 'DRAFT', parsing: 'DONE', engine: 'embedded', location: 'Hamburg' });
    expect(job).toMatchObject({ title: 'Senior Backend Engineer', minMonthsExperience: 60 });
    expect(job?.mustHave.join(' ')).toContain('PostgreSQL');
    expect(job?.niceToHave.join(' ')).toContain('Docker');
    const [kept] = await workers.database.query<{ posting: { title: string } }>(
      'select posting from jobs where id = $1',
      [jobId],
    );
    expect(kept?.posting.title).toBe('Senior Backend Engineer');
    expect(await workers.calls()).toMatchObject([
      { endpoint: 'parse/jd', outcome: 'SUCCEEDED', key_id: null },
    ]);
  });

  test('A-13 the result of a posting that was replaced meanwhile is discarded, and costs nothing', async () => {
    workers = await openWorkers({ hasProvider: true });
    const { database, companyId, clock } = workers;
    const jobId = await paste(POSTING_TEXT);
    let isReplaced = false;
    workers.scripted.model = () =>
      chatAnswer({ document_kind: 'job_posting', title: 'Senior Backend Engineer' });
    const slow = workers.handlersOn({
      ...database,
      async transaction(work, options) {
        if (!isReplaced) {
          isReplaced = true;
          const file = fileOf(`${POSTING_TEXT}\nApply until May.`);
          const changes = { companyId, jobId, changedBy: null, fields: {}, file };
          await database.transaction((own) => changeJob(own, { clock, jobQueue }, changes));
        }
        return await database.transaction(work, options);
      },
    });
    const before = (await workers.credits.level()).balanceMicro;
    await slow.document(jobOf({ jobId }));
    expect((await jobs())[0]).toMatchObject({ parsing: 'PENDING', version: 2 });
    expect((await workers.credits.level()).balanceMicro).toBe(before);
    expect(await workers.credits.held()).toBe(0);
    await workers.document(jobOf({ jobId }));
    expect((await jobs())[0]).toMatchObject({ parsing: 'DONE', version: 3, engine: 'model' });
  });

  test('A-13 a document that is not a posting is reported as such', async () => {
    workers = await openWorkers();
    await workers.document(jobOf({ jobId: await paste('Dear all, lunch is at noon.') }));
    expect((await jobs())[0]).toMatchObject({
      parsing: 'FAILED',
      parseProblem: expect.stringContaining('does not look like a job posting'),
    });
  });

  test('A-13 killed at every statement, a posting is read once and charged once', async () => {
    workers = await openWorkers();
    let crashes = 0;
    for (let at = 0; ; at += 1) {
      const jobId = await paste(`${POSTING_TEXT}\nNumber ${at}`);
      let isOver = true;
      for (const when of ['before', 'after'] as const) {
        const { database } = crashingDatabase(workers.database, { at, when });
        const run = workers.handlersOn(database).document(jobOf({ jobId }));
        if ((await run.catch((thrown: unknown) => thrown)) instanceof Crash) {
          isOver = false;
          crashes += 1;
        }
      }
      await workers.document(jobOf({ jobId }));
      const versions = await workers.database.query(
        'select what from job_versions where job_id = $1 order by version',
        [jobId],
      );
      expect(versions).toEqual([{ what: 'created' }, { what: 'parsed' }]);
      expect((await workers.calls()).length).toBe(at + 1);
      if (isOver) break;
    }
    expect(crashes).toBeGreaterThan(8);
  });
});
