import { beforeEach, describe, expect, test } from 'bun:test';
import { applyCvReading, findWaitingCv } from '../../src/domain/talents/read-cv.ts';
import { readTalentText } from '../../src/domain/talents/talent.ts';
import { useResource } from '../setup/use-resource.ts';
import { openBackend, type Person } from './backend-under-test.ts';

const backend = useResource(() => openBackend());
let admin: Person;
let companyId: string;
beforeEach(async () => {
  companyId = await backend.company('Agency');
  admin = await backend.person(companyId, { role: 'COMPANY_ADMIN' });
});

const ADDRESS = 'people@agency.example';
const MERGE = 'mutation($id: ID!, $into: ID!) { mergeTalents(id: $id, into: $into) { duplicateOf { id } } }';
const SEPARATE = `mutation($id: ID!, $from: ID!, $keep: Boolean) {
  separateTalents(id: $id, from: $from, keepProfile: $keep) { duplicateOf { id } } }`;

interface Shown {
  readonly name: string;
  readonly profile: { readonly basics: { readonly name: string }; readonly skills?: unknown };
  readonly evidence: unknown;
  readonly engine: string | null;
  readonly document: unknown;
  readonly duplicateOf: { readonly id: string } | null;
  readonly duplicates: readonly { readonly id: string }[];
  readonly possibleDuplicates: readonly { readonly id: string }[];
  readonly proposal: { readonly id: string } | null;
  readonly versions: readonly { readonly what: string; readonly profile: unknown }[];
}

async function shown(id: string): Promise<Shown> {
  const { talent } = await admin.ask<{ talent: Shown }>(
    `query($id: ID!) { talent(id: $id) { name profile evidence engine document duplicateOf { id } duplicates { id }
       possibleDuplicates { id } proposal { id } versions { what profile } } }`,
    { id },
  );
  return talent;
}

const profileOf = (name: string, email = ADDRESS, more: object = {}) => ({
  ...{ basics: { name, email }, work: [{ name: `${name} & Co`, position: 'Welder' }] },
  ...more,
});

/** As the CV worker writes it. */
async function sendCv(name: string, email = ADDRESS, more: object = {}): Promise<string> {
  const text = `${name} ${crypto.randomUUID()}`;
  const made = await admin.ask<{ createTalent: { id: string } }>(
    'mutation($input: TalentInput!) { createTalent(input: $input) { id } }',
    { input: { text } },
  );
  const waiting = await findWaitingCv(backend.database, made.createTalent.id);
  if (waiting === null) throw new Error('nothing waits');
  await applyCvReading(backend, waiting, {
    ...{ outcome: 'read', text, profile: profileOf(name, email, more), engine: 'embedded' },
    ...{ evidence: [{ path: 'basics.name', start: 0, end: name.length }], document: { of: name } },
  });
  return made.createTalent.id;
}

const exported = async (id: string) =>
  JSON.stringify(await admin.ask('mutation($id: ID!) { exportTalent(id: $id) }', { id }));
const erase = (id: string) => admin.ask('mutation($id: ID!) { eraseTalent(id: $id) }', { id });

/** A duplicate of another person, as it came about before names were compared. */
async function link(id: string, into: string): Promise<void> {
  const { database } = backend;
  const [own] = await database.query<{ profile: string; evidence: string }>(
    'select profile::text as profile, evidence::text as evidence from talents where id = $1',
    [id],
  );
  await database.transaction(async (transaction) => {
    await transaction.query(
      `insert into talent_decisions (talent_id, earlier_id, because, effect, decided_at) values ($1, $2, 'same-email', 'updated', now())`,
      [id, into],
    );
    await transaction.query('update talents set duplicate_of = $2 where id = $1', [id, into]);
    await transaction.query(
      `update talents set version = version + 1, profile = $2::text::jsonb, evidence = $3::text::jsonb,
         name = $2::text::jsonb -> 'basics' ->> 'name', document = '{"of": "another"}' where id = $1`,
      [into, own?.profile ?? null, own?.evidence ?? null],
    );
    await transaction.query(
      `insert into talent_versions (talent_id, version, what, profile, changed_at)
       select id, version, 'newer-cv', profile, now() from talents where id = $1`,
      [into],
    );
  });
}

describe('two people with one e-mail address', () => {
  test('are two talents: neither profile is replaced, exported or erased with the other', async () => {
    const ada = await sendCv('Ada Byron');
    const max = await sendCv('Max Planck');
    expect(await shown(ada)).toMatchObject({ name: 'Ada Byron', duplicates: [] });
    expect(await shown(max)).toMatchObject({ name: 'Max Planck', duplicateOf: null });
    expect(await exported(ada)).not.toContain('Planck');
    await erase(ada);
    expect(await shown(max)).toMatchObject({ name: 'Max Planck' });
  });

  test('are shown to each other until a user has said that they are two', async () => {
    const ids = [await sendCv('Ada Byron'), await sendCv('Max Planck'), await sendCv('Emmy Noether')];
    const [ada = '', max = '', emmy = ''] = ids;
    expect((await shown(max)).possibleDuplicates).toEqual([{ id: ada }, { id: emmy }]);
    await admin.ask(SEPARATE, { id: max, from: ada });
    expect((await shown(max)).possibleDuplicates).toEqual([{ id: emmy }]);
    expect((await shown(ada)).possibleDuplicates).toEqual([{ id: emmy }]);
  });

  test('each gets the newer CV of their own', async () => {
    const ada = await sendCv('Ada Byron');
    const max = await sendCv('Max Planck');
    const newer = await sendCv('M. Planck', ADDRESS, { skills: [{ name: 'Physics' }] });
    expect((await shown(newer)).duplicateOf).toEqual({ id: max });
    expect(await shown(max)).toMatchObject({ duplicates: [{ id: newer }], profile: { skills: [{}] } });
    expect((await shown(ada)).name).toBe('Ada Byron');
  });
});

describe('separated', () => {
  test('a duplicate is a talent of its own, and nothing of it is left with the other', async () => {
    const ada = await sendCv('Ada Byron');
    const newer = await sendCv('Ada Byron', ADDRESS, { skills: [{ name: 'Only of the newer' }] });
    expect(await shown(ada)).toMatchObject({ document: { of: 'Ada Byron' }, duplicates: [{ id: newer }] });
    await backend.database.query('delete from match_changes');
    await admin.ask(SEPARATE, { id: newer, from: ada });
    const changed = await backend.database.query<{ id: string }>(
      'select subject_id as id from match_changes order by 1',
    );
    expect(changed.map(({ id }) => id)).toEqual([ada, newer].sort());
    expect(await shown(newer)).toMatchObject({ duplicateOf: null, profile: { skills: [{}] } });
    const { profile, evidence, versions } = await shown(ada);
    expect(profile.skills).toBeUndefined();
    expect(evidence).toEqual([{ path: 'basics.name', start: 0, end: 9 }]);
    expect(versions.map(({ what }) => what)).toEqual(['separated', 'newer-cv', 'parsed', 'created']);
    expect(await readTalentText(backend.database, companyId, ada)).toStartWith('Ada Byron');
    expect(await exported(ada)).not.toContain('Only of the newer');
    await erase(newer);
    const left = JSON.stringify(
      await backend.database.query(
        'select to_jsonb(talents) as talent, to_jsonb(own) as version from talents join talent_versions as own on talent_id = id where id = $1',
        [ada],
      ),
    );
    expect(left).not.toContain('Only of the newer');
    expect(left).not.toContain(newer);
  });

  test('their CVs do not link them again', async () => {
    const ada = await sendCv('Ada Byron');
    const other = await sendCv('Ada Byron');
    await admin.ask(SEPARATE, { id: ada, from: other });
    const edit = 'mutation($id: ID!, $profile: JSON!) { updateTalent(id: $id, profile: $profile) { id } }';
    await admin.ask(edit, { id: other, profile: profileOf('Ada Byron', 'ada@second.example') });
    const third = await sendCv('Ada Byron', 'ada@second.example');
    expect((await shown(third)).duplicateOf).toEqual({ id: other });
    expect((await shown(ada)).duplicates).toEqual([]);
  });

  test('people who were linked by earlier versions get their profiles back', async () => {
    const ada = await sendCv('Ada Byron');
    const max = await sendCv('Max Planck');
    await link(max, ada);
    expect((await shown(ada)).name).toBe('Max Planck');
    const { separateTalents } = await admin.ask<{ separateTalents: object }>(SEPARATE, {
      id: ada,
      from: max,
    });
    expect(separateTalents).toEqual({ duplicateOf: null });
    const { name, evidence, document, versions } = await shown(ada);
    expect([name, evidence, document]).toEqual(['Ada Byron', null, null]);
    expect(JSON.stringify(versions)).not.toContain('Planck');
    expect(await shown(max)).toMatchObject({ name: 'Max Planck', duplicateOf: null, evidence: [{}] });
  });

  test('a profile that a user has corrected is kept where they say so, and edits of the other’s contents are not', async () => {
    for (const keep of [true, false]) {
      const ada = await sendCv('Ada Byron');
      const max = await sendCv('Max Planck');
      await link(max, ada);
      const edit = 'mutation($id: ID!, $profile: JSON!) { updateTalent(id: $id, profile: $profile) { id } }';
      await admin.ask(edit, { id: ada, profile: profileOf('Ada by hand') });
      await admin.ask(SEPARATE, { id: max, from: ada, keep });
      const { name, versions } = await shown(ada);
      expect([name, versions[0]?.what]).toEqual([keep ? 'Ada by hand' : 'Ada Byron', 'separated']);
      expect(JSON.stringify(versions)).not.toContain('Planck');
      for (const id of [ada, max]) await erase(id);
    }
  });

  test('what was accepted of the duplicate’s CV is taken back', async () => {
    for (const isOld of [false, true]) {
      const ada = await sendCv('Ada Byron');
      const edit = 'mutation($id: ID!, $profile: JSON!) { updateTalent(id: $id, profile: $profile) { id } }';
      await admin.ask(edit, { id: ada, profile: profileOf('Ada Byron', ADDRESS, { notes: 'by hand' }) });
      await backend.clock.advance(1);
      const newer = await sendCv('Ada Byron', ADDRESS, { skills: [{ name: 'Only of the newer' }] });
      const accept = 'mutation($id: ID!) { acceptTalentProposal(id: $id) { id } }';
      await admin.ask(accept, { id: (await shown(ada)).proposal?.id });
      expect((await shown(ada)).profile.skills).toHaveLength(1);
      if (isOld) await backend.database.query('update talent_versions set from_talent_id = null');
      await admin.ask(SEPARATE, { id: newer, from: ada });
      const { profile, evidence } = await shown(ada);
      expect(profile).toEqual(profileOf('Ada Byron', ADDRESS, { notes: 'by hand' }));
      expect(evidence).toHaveLength(1);
      expect(await exported(ada)).not.toContain('Only of the newer');
      for (const id of [ada, newer]) await erase(id);
    }
  });
});

describe('merged by a user', () => {
  test('a person with two addresses is one talent, whose profile changes only as a user accepts', async () => {
    const old = await sendCv('Ada Byron', 'ada@old.example');
    const newer = await sendCv('Ada Byron', 'ada@new.example', { skills: [{ name: 'Engines' }] });
    expect((await shown(newer)).duplicateOf).toBeNull();
    await admin.ask(MERGE, { id: newer, into: old });
    await admin.ask(MERGE, { id: newer, into: old });
    expect(await shown(old)).toMatchObject({ duplicates: [{ id: newer }], versions: [{}, {}] });
    expect((await shown(old)).proposal).not.toBeNull();
    expect(await exported(old)).toContain('ada@new.example');
    await admin.ask(SEPARATE, { id: newer, from: old });
    expect(await exported(old)).not.toContain('ada@new.example');
    await admin.ask(MERGE, { id: newer, into: old });
    expect((await shown(newer)).duplicateOf).toEqual({ id: old });
  });

  test('two talents with duplicates each become one person, and are separated with the duplicates that were their own', async () => {
    const old = await sendCv('Ada Byron', 'ada@old.example');
    const oldTwin = await sendCv('Ada Byron', 'ada@old.example');
    const late = await sendCv('Ada Byron', 'ada@new.example');
    const lateTwin = await sendCv('Ada Byron', 'ada@new.example');
    await admin.ask(MERGE, { id: late, into: old });
    const ids = [lateTwin, late, oldTwin].map((id) => ({ id }));
    expect((await shown(old)).duplicates).toEqual(ids);
    const refused = await admin.refusal(SEPARATE, { id: lateTwin, from: old });
    expect(refused.message).toContain(`linked through ${late}`);
    await admin.ask(SEPARATE, { id: late, from: old });
    expect(await shown(old)).toMatchObject({ duplicates: [{ id: oldTwin }] });
    expect(await shown(late)).toMatchObject({ duplicateOf: null, duplicates: [{ id: lateTwin }] });
    await admin.ask(MERGE, { id: old, into: late });
    expect((await shown(oldTwin)).duplicateOf).toEqual({ id: late });
    await erase(oldTwin);
    const left = await backend.database.query('select id from talents where company_id = $1', [companyId]);
    expect(left).toEqual([]);
  });

  test('the next CV from the merged address is of the talent that is matched', async () => {
    const old = await sendCv('Ada Byron', 'ada@old.example');
    const late = await sendCv('Ada Byron', 'ada@new.example');
    await admin.ask(MERGE, { id: late, into: old });
    const next = await sendCv('Ada Byron', 'ada@new.example', { notes: 'the newest' });
    expect((await shown(next)).duplicateOf).toEqual({ id: old });
    expect((await shown(old)).profile).toMatchObject({ notes: 'the newest' });
    const cousin = await sendCv('Anna Byron', 'ada@new.example');
    expect((await shown(cousin)).possibleDuplicates).toEqual([{ id: old }]);
  });

  test('a CV that fits two people is linked to neither, and a user is shown both', async () => {
    const father = await sendCv('John Smith');
    const son = await sendCv('John Smith');
    await admin.ask(SEPARATE, { id: son, from: father });
    const next = await sendCv('John Smith', ADDRESS, { notes: 'whose?' });
    const both = [{ id: father }, { id: son }];
    expect(await shown(next)).toMatchObject({ duplicateOf: null, possibleDuplicates: both });
    expect(JSON.stringify([await shown(father), await shown(son)])).not.toContain('whose?');
    const [ada, anna] = [await sendCv('Ada Byron', 'b@x.example'), await sendCv('Anna Byron', 'b@x.example')];
    expect(await shown(await sendCv('A. Byron', 'b@x.example'))).toMatchObject({
      duplicateOf: null,
      possibleDuplicates: [{ id: ada }, { id: anna }],
    });
  });

  test('what cannot be merged is refused: itself, a duplicate, one that is not read, another company’s', async () => {
    const ada = await sendCv('Ada Byron', 'ada@old.example');
    const twin = await sendCv('Ada Byron', 'ada@old.example');
    const max = await sendCv('Max Planck', 'max@x.example');
    const { createTalent } = await admin.ask<{ createTalent: { id: string } }>(
      'mutation { createTalent(input: { text: "unread" }) { id } }',
    );
    const codeOf = async (query: string, pair: object, by = admin) =>
      (await by.refusal(query, pair)).extensions.code;
    for (const pair of [
      { id: ada, into: ada },
      { id: max, into: twin },
      { id: twin, into: max },
      { id: createTalent.id, into: max },
    ]) {
      expect(await codeOf(MERGE, pair)).toBe('CONFLICT');
    }
    const stranger = backend.people.otherAdmin;
    expect(await codeOf(MERGE, { id: max, into: ada }, stranger)).toBe('NOT_FOUND');
    expect(await codeOf(SEPARATE, { id: twin, from: ada }, stranger)).toBe('NOT_FOUND');
    const colleague = await backend.person(companyId, { role: 'MEMBER' });
    expect(await codeOf(MERGE, { id: max, into: ada }, colleague)).toBe('FORBIDDEN');
    expect(await codeOf(SEPARATE, { id: twin, from: ada }, colleague)).toBe('FORBIDDEN');
  });
});
