import { expect, test } from 'bun:test';
import { useResource } from '../setup/use-resource.ts';
import { fillWithPerson } from './marked-person.ts';
import { OF_TALENTS } from './personal-tables.ts';
import { openSearchedSystem } from './searched-system.ts';

const system = useResource(async () => await openSearchedSystem(null));

/** Whole tables, or columns of them, with what the export has instead. */
const NOT_EXPORTED = {
  audit_log: 'who changed the talent, and when: the versions',
  log_entries: 'an id, and what failed',
  mail_outbox: 'copies of names and summaries, until they are sent',
  match_changes: 'that scores are to be made again',
  'match_subjects.kind': 'that it is a talent',
  'match_subjects.vector': 'numbers that a model made of the facts, which are exported',
  'match_subjects.written_in': 'the number of a transaction',
  'pgboss.job': 'an id',
  'room_events.dedupe_key': 'the room and the person of the event, which are exported',
  'talent_proposals.id': 'an id',
};

type Row = Readonly<Record<string, unknown>>;

test('P-15 the export of a person has every text and every time that is stored of them and of their duplicates', async () => {
  const { talentIds, bystanderId } = await fillWithPerson(system);
  const { exportTalent } = await system.backend.people.admin.ask<{ exportTalent: unknown }>(
    'mutation($id: ID!) { exportTalent(id: $id) }',
    { id: talentIds[1] },
  );
  const exported = new Set(leavesOf(exportTalent));
  const missing = new Set<string>();
  for (const table of OF_TALENTS) {
    for (const row of await system.database.query<Row>(`select * from ${table}`)) {
      if (row.kind === 'job' || [row.id, row.talent_id].includes(bystanderId)) continue;
      for (const [column, value] of Object.entries(row)) {
        if (leavesOf(value).every((leaf) => exported.has(leaf))) continue;
        missing.add(table in NOT_EXPORTED ? table : `${table}.${column}`);
      }
    }
  }
  expect([...missing].toSorted()).toEqual(Object.keys(NOT_EXPORTED).toSorted());
});

/** As JSON shows them. Numbers are left out: any of them is somewhere. */
function leavesOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (value instanceof Date) return [value.toISOString()];
  if (value instanceof Uint8Array) return value.length === 32 ? [value.toHex()] : [value.toBase64()];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(leavesOf);
}
