import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { lexicographicSortSchema, printSchema } from 'graphql';
import { createSchema } from '../../src/backend/graphql/schema.ts';
import type { Declaration } from '../../src/backend/graphql/schema-builder.ts';

const FILE = join(import.meta.dir, '../../src/backend/graphql/schema.graphql');
const HEAD =
  '# Written by test/backend/schema.test.ts: UPDATE_SCHEMA=1 bun test test/backend/schema.test.ts\n\n';

describe('the schema', () => {
  test('is the one in schema.graphql, so that every change of it is seen', async () => {
    const printed = printSchema(lexicographicSortSchema(createSchema()));
    // As the formatter of the repository lays descriptions out.
    const laidOut = printed.replaceAll(/^( *)"""(.+)"""$/gm, '$1"""\n$1$2\n$1"""');
    const written = `${HEAD}${laidOut}\n`;
    if (process.env.UPDATE_SCHEMA === '1') await Bun.write(FILE, written);
    expect(await Bun.file(FILE).text()).toBe(written);
  });

  test('P-14 an operation that does not say who may call it makes the schema fail', () => {
    const open: Declaration = (builder) =>
      builder.queryField('leak', (t) => t.boolean({ resolve: () => true }));
    const empty: Declaration = (builder) =>
      builder.queryField('leak', (t) => t.boolean({ authScopes: {}, resolve: () => true }));
    const other: Declaration = (builder) =>
      builder.mutationField('other', (t) => t.boolean({ authScopes: { anyone: true }, resolve: () => true }));
    for (const declaration of [open, empty]) {
      expect(() => createSchema([declaration, other])).toThrow('Query.leak: say who may call it');
    }
  });
});
