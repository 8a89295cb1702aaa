import { beforeEach, describe, expect, test } from 'bun:test';
import { applyCvReading, findWaitingCv } from '../../src/domain/talents/read-cv.ts';
import { openBackend, type Person } from '../backend/backend-under-test.ts';
import { useResource } from '../setup/use-resource.ts';

const backend = useResource(() => openBackend());
let admin: Person;
beforeEach(async () => {
  admin = await backend.person(await backend.company('Own'), { role: 'COMPANY_ADMIN' });
});

const EDITED = {
  basics: { name: 'Ada Byron', email: 'ada@example.org', label: 'Principal engineer' },
  work: [{ name: 'Analytical Engines', position: 'Engineer' }],
  notes: 'Met at the fair.',
};
/** What another person sends under her address. */
const SENT = {
  basics: { name: 'Ada Byron', email: 'ada@example.org', label: 'Intern', phone: '+44 20 7946 0999' },
  work: [{ name: 'Nowhere', position: 'Intern' }],
  skills: [{ name: 'Lying' }],
};
const ACCEPT =
  'mutation($id: ID!, $fields: [String!]) { acceptTalentProposal(id: $id, fields: $fields) { version } }';
const REJECT = 'mutation($id: ID!) { rejectTalentProposal(id: $id) { version } }';

type Change = Readonly<Record<'field' | 'before' | 'after', unknown>>;
interface Shown {
  readonly version: number;
  readonly profile: object;
  readonly proposal: { id: string; fromTalentId: string; changes: readonly Change[] } | null;
}

async function shown(id: string): Promise<Shown> {
  const { talent } = await admin.ask<{ talent: Shown }>(
    `query($id: ID!) { talent(id: $id) {
       version profile proposal { id fromTalentId changes { field before after } } } }`,
    { id },
  );
  return talent;
}

async function create(input: object): Promise<string> {
  const made = await admin.ask<{ createTalent: { id: string } }>(
    'mutation($input: TalentInput!) { createTalent(input: $input) { id } }',
    { input },
  );
  return made.createTalent.id;
}

/** As the CV worker writes it. */
async function sendCv(text: string, profile: Readonly<Record<string, unknown>>): Promise<string> {
  const id = await create({ text });
  const waiting = await findWaitingCv(backend.database, id);
  if (waiting === null) throw new Error('nothing waits');
  await applyCvReading(backend, waiting, {
    ...{ outcome: 'read', text, profile, evidence: [], document: {}, engine: 'embedded' },
  });
  return id;
}

/** A talent whose profile a person has edited. */
async function edited(): Promise<string> {
  const id = await create({ profile: { basics: { name: 'Ada', email: 'ada@example.org' } } });
  const edit = 'mutation($id: ID!, $profile: JSON!) { updateTalent(id: $id, profile: $profile) { id } }';
  await admin.ask(edit, { id, profile: EDITED });
  return id;
}

describe('a second CV with the e-mail address of a profile that a user has edited', () => {
  test('changes nothing, and proposes its changes', async () => {
    const id = await edited();
    const from = await sendCv('first', SENT);
    const { profile, version, proposal } = await shown(id);
    expect([version, profile]).toEqual([2, EDITED]);
    expect(proposal?.fromTalentId).toBe(from);
    expect(proposal?.changes.map(({ field }) => field).sort()).toEqual([
      ...['basics.label', 'basics.phone', 'skills', 'work'],
    ]);
    expect(proposal?.changes.find(({ field }) => field === 'basics.label')).toEqual({
      ...{ field: 'basics.label', before: 'Principal engineer', after: 'Intern' },
    });
  });

  test('accepted in part it changes only the named fields, and matching is notified', async () => {
    const id = await edited();
    await sendCv('second', SENT);
    const { proposal } = await shown(id);
    await backend.database.query('delete from match_changes');
    const wrong = await admin.refusal(ACCEPT, { id: proposal?.id, fields: ['basics.email'] });
    expect(wrong.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'fields' });
    await admin.ask(ACCEPT, { id: proposal?.id, fields: ['basics.phone', 'skills'] });
    const after = await shown(id);
    expect([after.version, after.proposal]).toEqual([3, null]);
    expect(after.profile).toEqual({
      ...EDITED,
      basics: { ...EDITED.basics, phone: SENT.basics.phone },
      skills: SENT.skills,
    });
    const changes = await backend.database.query('select 1 from match_changes where subject_id = $1', [id]);
    expect(changes).toHaveLength(1);
    expect((await admin.refusal(ACCEPT, { id: proposal?.id })).extensions.code).toBe('NOT_FOUND');
  });

  test('accepted completely it keeps fields that no CV has; rejected it changes nothing', async () => {
    const id = await edited();
    await sendCv('third', SENT);
    await admin.ask(ACCEPT, { id: (await shown(id)).proposal?.id });
    expect((await shown(id)).profile).toEqual({ ...EDITED, ...SENT });
    await sendCv('fourth', { ...SENT, work: [], skills: [{ name: 'Truth' }] });
    const { proposal, version } = await shown(id);
    expect(proposal?.changes.map(({ field }) => field)).toEqual(['skills']);
    await admin.ask(REJECT, { id: proposal?.id });
    expect(await shown(id)).toMatchObject({ version, proposal: null });
  });

  test('a later CV replaces the proposal; one without changes makes none; other companies cannot see or decide it', async () => {
    const id = await edited();
    await sendCv('fifth', SENT);
    const first = (await shown(id)).proposal;
    await sendCv('sixth', { ...SENT, skills: [{ name: 'Other' }] });
    const second = (await shown(id)).proposal;
    expect(second?.id).not.toBe(first?.id);
    expect((await admin.refusal(REJECT, { id: first?.id })).extensions.code).toBe('NOT_FOUND');
    const stranger = backend.people.otherAdmin;
    for (const decide of [ACCEPT, REJECT]) {
      expect((await stranger.refusal(decide, { id: second?.id })).extensions.code).toBe('NOT_FOUND');
    }
    await admin.ask(REJECT, { id: second?.id });
    await sendCv('seventh', { basics: { name: 'Ada Byron', email: 'ada@example.org' } });
    expect((await shown(id)).proposal).toBeNull();
  });
});
