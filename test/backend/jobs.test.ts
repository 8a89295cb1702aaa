import { beforeAll, describe, expect, test } from 'bun:test';
import { useResource } from '../setup/use-resource.ts';
import { openBackend, type Person } from './backend-under-test.ts';

let member: Person;
const backend = useResource(() => openBackend());
beforeAll(async () => {
  member = backend.people.member;
});

const FIELDS = `id title description status location remote employmentType mustHave niceToHave minMonthsExperience
  parsing parseProblem version createdAt updatedAt`;
type Job = Record<string, unknown> & { id: string; version: number };

async function create(input: object, person = member): Promise<Job> {
  const made = await person.ask<{ createJob: Job }>(
    `mutation($input: JobInput!) { createJob(input: $input) { ${FIELDS} } }`,
    { input },
  );
  return made.createJob;
}

async function update(id: string, input: object): Promise<Job> {
  const changed = await member.ask<{ updateJob: Job }>(
    `mutation($id: ID!, $input: JobInput!) { updateJob(id: $id, input: $input) { ${FIELDS} } }`,
    { id, input },
  );
  return changed.updateJob;
}

describe('jobs', () => {
  test('P-15 a job with fields is ACTIVE at once, trimmed, and no document waits to be read', async () => {
    const queuedBefore = backend.queued.length;
    const job = await create({
      title: '  Welder ',
      description: 'Weld.',
      location: 'Turin',
      remote: false,
      employmentType: 'FULL_TIME',
      mustHave: ['TIG welding'],
      niceToHave: ['Italian'],
      minMonthsExperience: 24,
    });
    expect(job).toMatchObject({ title: 'Welder', status: 'ACTIVE', parsing: 'NONE', version: 1 });
    expect(job).toMatchObject({
      mustHave: ['TIG welding'],
      niceToHave: ['Italian'],
      minMonthsExperience: 24,
    });
    expect(backend.queued.length).toBe(queuedBefore);
  });

  test('P-15 a pasted posting is a DRAFT and waits for the document worker', async () => {
    const job = await create({ text: '\n\nSenior Plumber\nYou fix pipes.', location: 'Lyon' });
    expect(job).toMatchObject({ status: 'DRAFT', title: 'Senior Plumber', location: 'Lyon' });
    expect(job).toMatchObject({ parsing: 'PENDING', description: 'Senior Plumber\nYou fix pipes.' });
    expect(backend.queued.at(-1)).toEqual({ queue: 'document', data: { jobId: job.id } });
    // What the embedded engine finds at once is there already, but for what was given.
    const welder = await create({ text: 'Welder\nTIG and more.', title: 'Master welder' });
    expect(welder).toMatchObject({
      title: 'Master welder',
      mustHave: ['TIG'],
      description: 'Welder\nTIG and more.',
    });
  });

  test('P-15 an uploaded posting is stored unchanged', async () => {
    const bytes = new TextEncoder().encode('Painter wanted');
    const file = { name: 'painter.txt', contentBase64: bytes.toBase64() };
    const job = await create({ file, status: 'ACTIVE' });
    expect(job).toMatchObject({ status: 'ACTIVE', title: 'painter', parsing: 'PENDING' });
    const [kept] = await backend.database.query('select name, bytes from job_files where job_id = $1', [
      job.id,
    ]);
    expect(kept).toEqual({ name: 'painter.txt', bytes });
  });

  test('P-15 edits are stored with user and time, and one without a change is not stored', async () => {
    const job = await create({ title: 'Cook', location: 'Oslo' });
    await backend.clock.advance(60_000);
    const admin = backend.people.admin;
    await admin.ask(
      'mutation($id: ID!) { updateJob(id: $id, input: { title: "Head cook", location: null }) { id } }',
      {
        id: job.id,
      },
    );
    expect(await update(job.id, { title: 'Head cook' })).toMatchObject({ version: 2, location: null });
    type Versions = { versions: { version: number; what: string; changedBy: string; fields: object }[] };
    const { jobs } = await member.ask<{ jobs: { nodes: Versions[] } }>(
      '{ jobs(first: 1) { nodes { versions { version what changedBy changedAt fields } } } }',
    );
    expect(jobs.nodes[0]?.versions).toMatchObject([
      { version: 2, what: 'edited', changedBy: admin.userId, fields: { title: 'Head cook', location: null } },
      { version: 1, what: 'created', changedBy: member.userId, fields: { title: 'Cook', location: 'Oslo' } },
    ]);
  });

  test('P-15 a job is closed once; closing it again is no error and creates no version', async () => {
    const job = await create({ title: 'Driver' });
    const close = 'mutation($id: ID!) { closeJob(id: $id) { status version } }';
    for (const _ of [1, 2]) {
      expect(await member.ask(close, { id: job.id })).toEqual({ closeJob: { status: 'CLOSED', version: 2 } });
    }
    expect(await update(job.id, { status: 'ACTIVE' })).toMatchObject({ status: 'ACTIVE', version: 3 });
  });

  test('P-15 lists are filtered by status and words, in pages without gaps', async () => {
    const other = await backend.person(await backend.company('Paged'));
    for (const title of ['A nurse', 'B nurse', 'C nurse', 'A porter']) await create({ title }, other);
    await create({ title: 'D nurse', status: 'DRAFT' }, other);
    const query = `query($after: ID) { jobs(first: 2, after: $after, status: ACTIVE, search: "NURSE") {
      nodes { title } pageInfo { hasNextPage endCursor } } }`;
    type Paged = {
      jobs: { nodes: { title: string }[]; pageInfo: { hasNextPage: boolean; endCursor: string } };
    };
    const first = (await other.ask<Paged>(query)).jobs;
    expect([first.nodes.map(({ title }) => title), first.pageInfo.hasNextPage]).toEqual([
      ['C nurse', 'B nurse'],
      true,
    ]);
    const second = (await other.ask<Paged>(query, { after: first.pageInfo.endCursor })).jobs;
    expect([second.nodes.map(({ title }) => title), second.pageInfo.hasNextPage]).toEqual([
      ['A nurse'],
      false,
    ]);
  });

  test('P-15 invalid fields are named, and nothing is created', async () => {
    const create = 'mutation($input: JobInput!) { createJob(input: $input) { id } }';
    const wrong: readonly (readonly [object, string])[] = [
      [{}, 'input.title'],
      [{ title: 'x'.repeat(301) }, 'input.title'],
      [{ title: 'A', mustHave: Array.from({ length: 101 }, () => 'a') }, 'input.mustHave'],
      [{ text: '  ' }, 'input.text'],
      [{ text: 'a', file: { name: 'a', contentBase64: 'YQ==' } }, 'input.file'],
      [{ file: { name: 'a', contentBase64: '***' } }, 'input.file.contentBase64'],
    ];
    const before = await backend.database.query('select count(*) from jobs');
    for (const [input, field] of wrong) {
      const { extensions } = await member.refusal(create, { input });
      expect(extensions).toMatchObject({ code: 'BAD_USER_INPUT', field });
    }
    expect(await backend.database.query('select count(*) from jobs')).toEqual(before);
  });
});
