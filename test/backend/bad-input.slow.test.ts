import { describe, expect, test } from 'bun:test';
import { createSchema } from '../../src/backend/graphql/schema.ts';
import { createSeededRandom } from '../doubles/seeded-random.ts';
import { useResource } from '../setup/use-resource.ts';
import { openBackend } from './backend-under-test.ts';
import { graphqlClient } from './graphql-client.ts';
import { documentOf, operationsOf, textPaths, variablesOf } from './sample-operations.ts';

/** What may be tried in a text, harmless where it is a text and nothing else. */
const NASTY = [
  '',
  ' ',
  "'; drop table users; --",
  "' or '1'='1",
  '$1',
  '%s%n#{7*7}{{7*7}}',
  '<script>alert(1)</script>',
  '../../../etc/passwd',
  'a\u0000b',
  '\ud800',
  '\u202eevil\u2028',
  '\u001b[2J',
  '-1',
  '1e999',
  'null',
  '{}',
  'ﷺ'.repeat(150),
];
/** CVs and postings, pasted or as a file. */
const DOCUMENTS = /^input\.(?:text|file\.contentBase64)$/;
const LONG = 'x'.repeat(10_000);
const FORESEEN = [
  'none',
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'NOT_FOUND',
  'BAD_USER_INPUT',
  'CONFLICT',
  'RATE_LIMITED',
];

let calls = 0;
const backend = useResource(() => openBackend());

/** A user who may call everything, in a company of their own, from an IP address of their own. */
async function clientWithEveryRight() {
  calls += 1;
  const company = await backend.company('Target');
  await backend.person(company, { role: 'COMPANY_ADMIN' });
  const { token } = await backend.person(company, { role: 'COMPANY_ADMIN', isSuperAdmin: true });
  return graphqlClient(backend.fetch, token, `198.18.${calls >> 8}.${calls & 255}`);
}

describe('bad input in every text of every operation', () => {
  for (const operation of operationsOf(createSchema()).filter(({ kind }) => kind !== 'subscription')) {
    for (const path of textPaths(operation)) {
      test(`${operation.name}: ${path}`, async () => {
        const before = backend.entries.filter(({ level }) => level === 'error').length;
        const random = createSeededRandom(operation.name.length * 1_000 + path.length);
        const noise = Array.from({ length: 5 }, () =>
          random.text(random.below(60), ' \'"\\;%_$\u0007\u00e9{}[]<>'),
        );
        const client = await clientWithEveryRight();
        for (const text of [...NASTY, ...noise]) {
          const { errors } = await client.answer(
            documentOf(operation),
            variablesOf(operation, { [path]: text }),
          );
          expect(FORESEEN).toContain(errors?.[0]?.extensions.code ?? 'none');
        }
        const { errors, data } = await client.answer(
          documentOf(operation),
          variablesOf(operation, { [path]: LONG }),
        );
        // But for a document no operation takes a text of 10,000 characters; an id of that length names nothing.
        if (!DOCUMENTS.test(path)) {
          expect(['BAD_USER_INPUT', 'NOT_FOUND']).toContain(errors?.[0]?.extensions.code ?? 'none');
          expect(Object.values(data ?? {}).filter((value) => value !== null)).toEqual([]);
          expect(JSON.stringify(errors).length).toBeLessThan(1_000);
        }
        const after = backend.entries.filter(({ level }) => level === 'error');
        expect(after.slice(before)).toEqual([]);
      });
    }
  }

  test('all tables are unchanged, and accepted values are shown as they were sent', async () => {
    expect(
      await backend.database.query("select 1 from users where role = 'COMPANY_ADMIN' limit 1"),
    ).toHaveLength(1);
    const name = `<b>'; drop table companies; --`;
    const { admin } = backend.people;
    const query = 'mutation($name: String!) { updateCompany(name: $name) { name } }';
    expect(await admin.ask(query, { name })).toEqual({ updateCompany: { name } });
  });
});
