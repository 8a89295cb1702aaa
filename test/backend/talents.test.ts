import { beforeEach, describe, expect, test } from 'bun:test';
import { applyCvReading, findWaitingCv } from '../../src/domain/talents/read-cv.ts';
import { useResource } from '../setup/use-resource.ts';
import { openBackend, type Person } from './backend-under-test.ts';

let admin: Person;
const backend = useResource(() => openBackend());
beforeEach(async () => {
  admin = await backend.person(await backend.company('Own'), { role: 'COMPANY_ADMIN' });
});

const FIELDS = 'id name email headline status problem profile engine version duplicateOf { id }';
type Talent = Record<string, unknown> & { id: string };

async function create(input: object): Promise<Talent> {
  const made = await admin.ask<{ createTalent: Talent }>(
    `mutation($input: TalentInput!) { createTalent(input: $input) { ${FIELDS} } }`,
    { input },
  );
  return made.createTalent;
}

async function all(): Promise<Talent[]> {
  const { talents } = await admin.ask<{ talents: { nodes: Talent[] } }>(
    `{ talents { nodes { ${FIELDS} } } }`,
  );
  return talents.nodes;
}

const profileOf = (name: string, email: string, phone: string) => ({
  basics: { name, email, phone, label: 'Welder' },
  work: [{ name: 'Forge', position: 'Welder' }],
});

/** What the CV worker writes. */
async function read(talentId: string, profile: Readonly<Record<string, unknown>>) {
  const waiting = await findWaitingCv(backend.database, talentId);
  if (waiting === null) throw new Error('nothing waits');
  const reading = {
    outcome: 'read',
    text: 'the text',
    profile,
    evidence: [],
    document: {},
    engine: 'embedded',
  } as const;
  return await applyCvReading(backend.parts, waiting, reading);
}

describe('talents', () => {
  test('P-15 a CV is stored unchanged and waits for the CV worker', async () => {
    const talent = await create({ text: 'Ada Byron\nMathematician' });
    expect(talent).toMatchObject({ status: 'PENDING', name: null, profile: null });
    expect(backend.queued.at(-1)).toEqual({ queue: 'cv', data: { talentId: talent.id } });
    await read(talent.id, profileOf('Ada Byron', 'Ada@Example.org', '+44 20 7946 0000'));
    expect(await all()).toMatchObject([
      {
        status: 'READY',
        name: 'Ada Byron',
        email: 'ada@example.org',
        headline: 'Welder',
        engine: 'embedded',
      },
    ]);
  });

  test('P-15 a profile is not parsed', async () => {
    expect(await create({ profile: profileOf('Bo', 'bo@x.example', '') })).toMatchObject({
      status: 'READY',
      name: 'Bo',
    });
  });

  test('P-15 the same file again is the same talent, and the decision is recorded', async () => {
    const first = await create({ text: 'one and the same' });
    const queued = backend.queued.length;
    const second = await create({ text: 'one and the same' });
    expect([second.id, backend.queued.length]).toEqual([first.id, queued]);
    const decisions = await backend.database.query(
      'select because, effect from talent_decisions where talent_id = $1',
      [first.id],
    );
    expect(decisions).toEqual([{ because: 'same-file', effect: 'returned' }]);
    // Another company does not see it.
    const own = first.id;
    admin = await backend.person(await backend.company('Else'), { role: 'COMPANY_ADMIN' });
    expect((await create({ text: 'one and the same' })).id).not.toBe(own);
  });

  test('P-15 a file that could not be read is tried again when it is sent again', async () => {
    const { id } = await create({ text: 'unreadable' });
    const waiting = await findWaitingCv(backend.database, id);
    if (waiting === null) throw new Error('nothing waits');
    await applyCvReading(backend.parts, waiting, { outcome: 'failed', problem: 'It is a scan.' });
    expect(await all()).toMatchObject([{ id, status: 'FAILED', problem: 'It is a scan.' }]);
    expect(await create({ text: 'unreadable' })).toMatchObject({ id, status: 'PENDING', problem: null });
    expect(backend.queued.at(-1)).toEqual({ queue: 'cv', data: { talentId: id } });
  });

  test.each([
    ['same-email', profileOf('A. Byron', 'ADA@example.org', '')],
    ['same-name-and-phone', profileOf('ada byron', 'new@example.org', '0044 (20) 7946-0000')],
  ])('P-15 a talent who applies again is recognised by the %s and updated', async (because, profile) => {
    const first = await create({ profile: profileOf('Ada Byron', 'ada@example.org', '+44 20 7946 0000') });
    const second = await create({ text: because });
    await read(second.id, profile);
    const [newer, earlier] = await all();
    expect([newer?.id, newer?.status, newer?.duplicateOf]).toEqual([second.id, 'READY', { id: first.id }]);
    expect(earlier).toMatchObject({ id: first.id, version: 2, name: profile.basics.name, duplicateOf: null });
    const decisions = await backend.database.query(
      'select earlier_id, because, effect from talent_decisions where talent_id = $1',
      [second.id],
    );
    expect(decisions).toEqual([{ earlier_id: first.id, because, effect: 'updated' }]);
  });

  test('P-15 an export has all data, and is in the audit log', async () => {
    const { id } = await create({ text: 'Ada Byron' });
    await read(id, profileOf('Ada Byron', 'ada@example.org', ''));
    const { exportTalent } = await admin.ask<{ exportTalent: Record<string, unknown> }>(
      'mutation($id: ID!) { exportTalent(id: $id) }',
      { id },
    );
    expect(exportTalent).toMatchObject({
      talent: { id, name: 'Ada Byron', profile: { basics: { email: 'ada@example.org' } } },
      versions: [{ what: 'created' }, { what: 'parsed', profile: { basics: { name: 'Ada Byron' } } }],
      files: [{ name: 'pasted.txt', contentBase64: btoa('Ada Byron'), text: 'the text' }],
      matches: [],
    });
    const [entry] = await backend.database.query(
      `select details::text as details from audit_log where action = 'talent.exported' and object_id = $1`,
      [id],
    );
    expect(entry).toEqual({ details: '{}' });
  });

  test('P-15 a person with more files than one answer holds is exported: those that do not fit one by one', async () => {
    const { id } = await create({ profile: profileOf('Large Files', 'large@files.example', '') });
    await backend.database.query(
      `insert into talent_files (id, talent_id, company_id, name, sha256, bytes, text, created_at)
       select gen_random_uuid(), id, company_id, 'cv-' || n || '.pdf', sha256(n::text::bytea),
         convert_to(repeat(n::text, 10485760), 'UTF8'), 'text ' || n, now()
       from talents, generate_series(1, 2) as n where id = $1`,
      [id],
    );
    interface ExportedFile {
      readonly id: string;
      readonly name: string;
      readonly bytes: number;
      readonly contentBase64: string | null;
      readonly text: string | null;
    }
    const { exportTalent } = await admin.ask<{ exportTalent: { files: ExportedFile[] } }>(
      'mutation($id: ID!) { exportTalent(id: $id) }',
      { id },
    );
    const { files } = exportTalent;
    expect(files.map(({ contentBase64 }) => contentBase64?.length ?? null)).toEqual([13_981_016, null]);
    expect(files.map(({ bytes }) => bytes)).toEqual([10_485_760, 10_485_760]);
    const one = 'mutation($id: ID!, $file: ID!) { exportTalentFile(talentId: $id, fileId: $file) }';
    const { id: file, name = '' } = files[1] ?? {};
    const n = name.slice(3, 4);
    const { exportTalentFile } = await admin.ask<{ exportTalentFile: ExportedFile }>(one, { id, file });
    expect(exportTalentFile).toMatchObject({ id: file, name, text: `text ${n}` });
    expect(exportTalentFile.contentBase64?.slice(0, 8)).toBe(btoa(n.repeat(6)));
    expect(exportTalentFile.contentBase64).toHaveLength(13_981_016);
    const other = await create({ profile: profileOf('Other Person', 'other@files.example', '') });
    const refused = await admin.refusal(one, { id: other.id, file: files[0]?.id });
    expect(refused.extensions.code).toBe('NOT_FOUND');
  });

  test('P-15 a talent is a text, a file or a profile, and a profile must match its schema', async () => {
    const query = 'mutation($input: TalentInput!) { createTalent(input: $input) { id } }';
    const wrong: readonly (readonly [object, string])[] = [
      [{}, 'input'],
      [{ text: 'a', profile: {} }, 'input'],
      [{ profile: 'a' }, 'input.profile'],
      [{ profile: { basics: { name: 7 } } }, 'input.profile'],
      [{ profile: { note: 'x'.repeat(200_001) } }, 'input.profile'],
    ];
    for (const [input, field] of wrong) {
      const { extensions } = await admin.refusal(query, { input });
      expect([extensions.code, extensions.field]).toEqual(['BAD_USER_INPUT', field]);
    }
    const odd = await create({ profile: { basics: { name: 'a\u0000\ud800b' } } });
    expect(odd.status).toBe('READY');
  });
});
