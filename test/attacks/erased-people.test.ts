import { expect, test } from 'bun:test';
import { applyCvReading, findWaitingCv } from '../../src/domain/talents/read-cv.ts';
import { openBackend } from '../backend/backend-under-test.ts';
import { useResource } from '../setup/use-resource.ts';

const backend = useResource(() => openBackend());
const CREATE = 'mutation($input: TalentInput!) { createTalent(input: $input) { id } }';
const profile = {
  basics: { name: 'Zoltan Unique', email: 'zoltan@unique.example', phone: '', label: 'Welder' },
  work: [{ name: 'Forge Unique', position: 'Welder' }],
};

test('P-15 after erasure no row of any table has data of the person, nor of the record they were matched with', async () => {
  const { admin } = backend.people;
  const create = async (input: object) =>
    (await admin.ask<{ createTalent: { id: string } }>(CREATE, { input })).createTalent.id;
  const first = await create({ profile });
  const second = await create({ text: 'Zoltan Unique, a CV' });
  const waiting = await findWaitingCv(backend.database, second);
  if (waiting === null) throw new Error('the CV waits for its worker');
  const reading = {
    outcome: 'read',
    text: 'Zoltan Unique',
    profile,
    evidence: [],
    document: {},
    engine: 'embedded',
  } as const;
  await applyCvReading(backend.parts, waiting, reading);
  await backend.database.query(
    `insert into log_entries (timestamp, level, message, context) values (now(), 'info', 'a CV was read', $1)`,
    [{ talentId: second, note: 'unique' }],
  );
  const { otherAdmin } = backend.people;
  const erase = 'mutation($id: ID!) { eraseTalent(id: $id) }';
  expect((await otherAdmin.refusal(erase, { id: second })).extensions.code).toBe('NOT_FOUND');
  expect(await admin.ask(erase, { id: second })).toEqual({ eraseTalent: true });
  const tables = await backend.database.query<{ name: string }>(
    `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
     where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')
       and table_name <> 'audit_log'`,
  );
  for (const { name } of tables) {
    const rows = await backend.database.query<{ row: string }>(
      `select to_jsonb(t)::text as row from ${name} t`,
    );
    const text = rows.map(({ row }) => row.toLowerCase()).join('\n');
    const found = ['unique', first, second].filter((word) => text.includes(word));
    expect([name, found]).toEqual([name, []]);
  }
});
