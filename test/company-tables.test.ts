/** docs/scaling.md says of every table whose rows it has: of a company, by which way, or of the cell. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { useDatabase } from './setup/use-database.ts';

const database = useDatabase();
const page = readFileSync(new URL('../docs/scaling.md', import.meta.url), 'utf8');

function tablesIn(row: string): string[] {
  const line = page.split('\n').find((one) => one.startsWith(`| ${row} |`));
  if (line === undefined) throw new Error(`docs/scaling.md has no row "${row}"`);
  return [...(line.split('|')[2] ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name);
}

test('every table has its company, leads to it, or belongs to the cell, as docs/scaling.md lists it', async () => {
  const tables = await database.query<{ name: string; hasCompany: boolean }>(
    `select relation.relname as name, exists (select 1 from pg_attribute as col where col.attrelid = relation.oid
       and col.attname = 'company_id' and not col.attisdropped) as "hasCompany"
     from pg_class as relation
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`,
  );
  const listed = ['a company, by a key that leads to it', 'the cell'].flatMap(tablesIn);
  const without = tables.filter(({ name, hasCompany }) => !hasCompany && name !== 'companies');
  // A new table without the column needs a place in one of the two rows: companies that move take its rows along, or not.
  expect(listed.filter((name) => name !== 'pgboss').toSorted()).toEqual(
    without.map(({ name }) => name).toSorted(),
  );
});
