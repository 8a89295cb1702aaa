import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createJob } from '../../src/domain/jobs/job-changes.ts';
import { createMailOutbox } from '../../src/domain/mail/outbox.ts';
import { announceMeeting } from '../../src/domain/meetings/announce-meeting.ts';
import { createTalent } from '../../src/domain/talents/talent-changes.ts';
import { CV_TEXT, POSTING_TEXT } from '../ai-service/workers-under-test.ts';
import { MAIL_SAMPLES } from '../doubles/mail-samples.ts';
import { until } from '../doubles/until.ts';
import { addJob, addTalent, scoresOf } from '../matching/matching-world.ts';
import { describeServers } from '../setup/use-redis.ts';
import { expectAgreeingBooks } from './credit-clients.ts';
import { INTERNAL_TOKEN, openWorkerWorld, type RunningAiService, type WorkerWorld } from './worker-world.ts';

/** A process takes its time on a slow machine; nothing here is about how much. */
const TRANSCRIPT = 'Ada: I will send the exercise by Friday.\nBob: Good, then we decide on Monday.';

describeServers('kill -9 of the AI service in each step of each workflow', () => {
  let world: WorkerWorld;
  let running: RunningAiService;
  const ids = { talent: '', job: '', meeting: '', mail: '' };
  beforeAll(async () => {
    world = await openWorkerWorld();
    running = await world.startAhead(-3_600_000);
  });
  afterAll(async () => {
    if (running !== undefined) await world.kill(running);
    await world?.close();
  });

  const fileOf = (name: string, text: string) => ({ name, bytes: new TextEncoder().encode(text) });
  const activeJobs = async () => {
    const rows = await world.database.query<{ name: string }>(
      `select name from pgboss.job where state = 'active' and name in ('cv', 'document', 'meeting', 'mail')
       order by name`,
    );
    return rows.map(({ name }) => name).join(' ');
  };
  const claims = (table: string) =>
    world.database.query<{ isLive: boolean }>(
      `select claimed_until > now() as "isLive" from ${table} where claimed_until is not null`,
    );
  const states = async () => {
    const [row] = await world.database.query<Record<string, unknown>>(
      `select (select status from talents where id = $1) as talent,
         (select parsing from jobs where id = $2) as job, (select state from mail_outbox where id = $4) as mail,
         (select summary is not null from meeting_transcripts where meeting_id = $3) as meeting,
         (select count(*)::int from match_subjects) as subjects`,
      [ids.talent, ids.job, ids.meeting, ids.mail],
    );
    return row;
  };

  /** Everything at once: a CV, a posting, a mail, a transcript over HTTP, and a talent and a job to be matched. */
  async function giveWork(): Promise<void> {
    const { database, parts, companyId } = world;
    await database.transaction(async (transaction) => {
      const from = { file: fileOf('cv.txt', CV_TEXT) };
      const talent = await createTalent(transaction, parts, { companyId, createdBy: null, from });
      const file = fileOf('posting.txt', POSTING_TEXT);
      const wanted = { companyId, createdBy: null, fields: {}, file, draft: { title: 'Untitled' } };
      const job = await createJob(transaction, parts, wanted);
      const outbox = createMailOutbox({ ...parts, messageIdDomain: 'mail.example' });
      const data = MAIL_SAMPLES['low-balance'];
      const mail = await outbox.send({ kind: 'low-balance', to: 'ada@x.example', data }, transaction);
      if (talent.outcome !== 'created' || job.outcome !== 'created' || mail.outcome !== 'queued') {
        throw new Error('the work was refused');
      }
      Object.assign(ids, { talent: talent.talent.id, job: job.job.id, mail: mail.mailId });
    });
    await addJob(database, companyId, {});
    await addTalent(database, companyId, {});
    const plan = { startsAt: null, plannedMinutes: null, jobId: null, talentId: null };
    const userId = await addUser();
    const announced = await database.transaction((transaction) =>
      announceMeeting(transaction, parts, { room: 'killed', companyId, createdBy: userId, ...plan }),
    );
    if (announced.outcome !== 'announced') throw new Error('the meeting was refused');
    ids.meeting = announced.meeting.id;
    const posted = await fetch(`${running.url}/api/meetings/${ids.meeting}/transcript`, {
      method: 'POST',
      headers: { authorization: `Bearer ${INTERNAL_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ text: TRANSCRIPT }),
    });
    expect(posted.status).toBe(202);
  }

  async function tellOfRoom(): Promise<number> {
    const event = { event: 'room_created', room: 'told', timestamp: new Date().toISOString() };
    const headers = { authorization: `Bearer ${INTERNAL_TOKEN}` };
    const body = JSON.stringify(event);
    return (await fetch(`${running.url}/api/events/room/created`, { method: 'POST', headers, body })).status;
  }

  async function addUser(): Promise<string> {
    const id = world.secrets.newId();
    await world.database.query(
      `insert into users (id, company_id, email, password_hash, role) values ($1, $2, 'p@acme.example', 'x', 'MEMBER')`,
      [id, world.companyId],
    );
    return id;
  }

  async function kill(held?: { release(): Promise<void> }): Promise<void> {
    await world.kill(running);
    await held?.release();
    await world.letLeasesLapse();
  }

  test('A-13 before the model is called, and before the mail server has accepted: nothing has happened', async () => {
    const { provider, letterbox, toRedis } = world;
    letterbox.isOpen = new Promise(() => {});
    toRedis.hold();
    await giveWork();
    await until(
      async () => (await activeJobs()) === 'cv document mail meeting' && letterbox.offered.length === 1,
    );
    // Its clock is an hour behind, and others compare these times with theirs.
    await until(async () => (await claims('match_changes')).length > 0);
    for (const table of ['mail_outbox', 'match_changes']) {
      expect(await claims(table)).not.toContainEqual({ isLive: false });
    }
    for (const table of ['match_processes', 'service_processes']) {
      const rows = `select seen_at > now() - interval '20 minutes' as "isSeen" from ${table}`;
      await until(async () => (await world.database.query(rows)).length > 0);
      expect(await world.database.query(rows)).toEqual([{ isSeen: true }]);
    }
    await kill();
    toRedis.release();
    expect(provider.counts).toEqual({ cv: 0, posting: 0, meeting: 0, reasons: 0, vectors: 0 });
    expect(await states()).toEqual({
      talent: 'PENDING',
      job: 'PENDING',
      mail: 'WAITING',
      meeting: false,
      subjects: 0,
    });
  });

  test('A-13 while the model is running, and between the mail server’s acceptance and our mark', async () => {
    const { provider, letterbox } = world;
    const accept = Promise.withResolvers<void>();
    letterbox.isOpen = accept.promise;
    provider.hold();
    running = await world.start();
    await until(() => letterbox.offered.length === 2);
    const marked = await world.lock('select 1 from mail_outbox where id = $1 for update', [ids.mail]);
    accept.resolve();
    const { counts } = provider;
    await until(() =>
      [counts.cv, counts.posting, counts.meeting, counts.vectors].every((count) => count === 1),
    );
    await until(async () => (await world.waiting()) === 1);
    await kill(marked);
    expect(await states()).toMatchObject({ talent: 'PENDING', mail: 'WAITING', meeting: false, subjects: 0 });
    expect([await world.spent(), world.accepted().length]).toEqual([0n, 1]);
  });

  test('A-13 within the transaction that records and charges: neither has happened', async () => {
    world.provider.answer();
    const charging = await world.lock('select 1 from credit_accounts where id = $1 for update', [
      world.companyId,
    ]);
    running = await world.start();
    // The CV, the posting, the summary and the vectors, each at its charge.
    await until(async () => (await world.waiting()) === 4);
    await until(async () => (await states())?.mail === 'SENT');
    await kill(charging);
    expect(await states()).toMatchObject({ talent: 'PENDING', job: 'PENDING', meeting: false, subjects: 0 });
    expect([await world.spent(), await world.balance()]).toEqual([0n, world.grantedMicro]);
  });

  test('A-13 between the commit and the end of the job: both have happened, and the next run finds that', async () => {
    const { provider, toRedis } = world;
    const before = { ...provider.counts };
    provider.hold();
    running = await world.start();
    const kinds = ['cv', 'posting', 'meeting', 'vectors'] as const;
    await until(() => kinds.every((kind) => provider.counts[kind] === before[kind] + 1));
    // What a job has done is committed before its own row says that it has ended.
    const ends = await world.lock(`select 1 from pgboss.job where state = 'active' for update`);
    // Nor do scores follow yet.
    toRedis.hold();
    provider.answer();
    const done = { talent: 'READY', job: 'DONE', mail: 'SENT', meeting: true, subjects: 2 };
    await until(async () => Bun.deepEquals(await states(), done));
    expect(await activeJobs()).toBe('cv document meeting');
    await kill(ends);
    toRedis.release();
  });

  test('A-12 within the transaction that stores the scores: none is stored, and none is lost', async () => {
    const scores = await world.lock('lock table match_scores in share row exclusive mode');
    running = await world.start();
    await until(async () => (await world.waiting()) >= 1);
    await kill(scores);
    expect(await scoresOf(world.database, world.companyId)).toEqual([]);
  });

  test('A-13 G-28 in the end each has happened once: nothing lost, nothing doubled, each call charged once', async () => {
    running = await world.start();
    const { database, companyId } = world;
    const left = async (what: string) => (await database.query(what)).length;
    await until(
      async () => (await left('select 1 from match_changes union all select 1 from match_pairs')) === 0,
    );
    await until(async () => (await activeJobs()) === '');
    const jobs = `select 1 from pgboss.job where name in ('cv', 'document', 'meeting', 'mail')`;
    expect(await left(`${jobs} and state <> 'completed'`)).toBe(0);
    expect(await left(`select 1 from pgboss.job where name like '%.dead'`)).toBe(0);
    expect(await states()).toMatchObject({ talent: 'READY', job: 'DONE', mail: 'SENT', meeting: true });
    for (const what of ['talent_versions', 'job_versions']) {
      expect(await left(`select 1 from ${what} where what = 'parsed'`)).toBe(1);
    }
    // The one repeat that is allowed: the process died between acceptance and mark. It is the same mail.
    const [messageId, ...repeats] = world.accepted();
    expect([messageId, repeats]).toEqual([`${ids.mail}@mail.example`, [messageId ?? '']]);
    const pairs = (await scoresOf(database, companyId)).map(({ jobId, talentId }) => `${jobId} ${talentId}`);
    expect([new Set(pairs).size, pairs.length > 0]).toEqual([pairs.length, true]);

    const calls = await database.query<{ endpoint: string; outcome: string; calls: number; paid: number }>(
      `select endpoint, outcome, count(*)::int as calls, count(*) filter (where charge_micro > 0)::int as paid
       from calls where company_id = $1 and endpoint <> 'match-reasons' group by 1, 2 order by 1`,
      [companyId],
    );
    const once = { outcome: 'SUCCEEDED', calls: 1, paid: 1 };
    expect(calls).toEqual([
      // The first talent and job, then those that the workers had read.
      { endpoint: 'embeddings', outcome: 'SUCCEEDED', calls: 2, paid: 2 },
      { endpoint: 'meeting-summary', ...once },
      { endpoint: 'parse/cv', ...once },
      { endpoint: 'parse/jd', ...once },
    ]);
    // In one statement: reasons of matches may still be written and charged.
    const [books] = await database.query<{ charged: bigint; spent: bigint }>(
      `select $2::bigint - balance_micro as charged,
         (select coalesce(sum(charge_micro), 0)::bigint from calls where company_id = $1) as spent
       from credit_accounts where id = $1`,
      [companyId, world.grantedMicro],
    );
    expect(books?.charged).toBe(books?.spent as bigint);
    await expectAgreeingBooks(database);
  });

  test('A-2 readiness is correct while cache and database are unavailable in turn, and when they are back', async () => {
    const ready = async () => {
      const response = await fetch(`${running.url}/health/ready`);
      const { status, components } = (await response.json()) as {
        status: string;
        components: Record<string, unknown> & { workers: { status: string } };
      };
      const { cv_worker, email_worker, match_score_generator, workers } = components;
      const states = [cv_worker, email_worker, match_score_generator].join(' ');
      return [response.status, status, workers.status, states].join(', ');
    };
    const well = '200, healthy, healthy, healthy healthy healthy';
    await until(async () => (await ready()) === well);
    world.toRedis.cut();
    await until(async () => (await ready()) === well.replace('200, healthy', '200, degraded'));
    world.toRedis.restore();
    await until(async () => (await ready()) === well);
    world.toDatabase.cut();
    await until(async () => (await ready()) === '503, unhealthy, degraded, degraded degraded degraded');
    // The meeting server sends again what was answered with a 5xx.
    expect(await tellOfRoom()).toBeGreaterThanOrEqual(500);
    world.toDatabase.restore();
    await until(async () => (await ready()) === well);
    expect(await tellOfRoom()).toBe(202);
  });
});
