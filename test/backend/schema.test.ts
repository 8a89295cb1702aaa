import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { minifyIntrospection, outputIntrospectionFile } from 'gql.tada/internal';
import { introspectionFromSchema, lexicographicSortSchema, printSchema } from 'graphql';
import { createSchema } from '../../src/backend/graphql/schema.ts';
import type { Declaration } from '../../src/backend/graphql/schema-builder.ts';

const ROOT = join(import.meta.dir, '../..');
const FILE = join(ROOT, 'src/backend/graphql/schema.graphql');
const CONSOLE_FILE = join(ROOT, 'console/session/schema.generated.d.ts');
const WRITTEN_BY = 'Written by test/backend/schema.test.ts: npm run generate';

describe('the schema', () => {
  test('matches schema.graphql, so that every change of it is reviewed', async () => {
    const printed = printSchema(lexicographicSortSchema(createSchema()));
    // As the formatter of the repository lays descriptions out.
    const laidOut = printed.replaceAll(/^( *)"""(.+)"""$/gm, '$1"""\n$1$2\n$1"""');
    const written = `# ${WRITTEN_BY}\n\n${laidOut}\n`;
    if (process.env.UPDATE_SCHEMA === '1') await Bun.write(FILE, written);
    expect(await Bun.file(FILE).text()).toBe(written);
  });

  test('matches the one from which the console infers the types of its queries', async () => {
    const introspection = introspectionFromSchema(lexicographicSortSchema(createSchema()), {
      descriptions: false,
    });
    const types = outputIntrospectionFile(minifyIntrospection(introspection), {
      fileType: '.d.ts',
      shouldPreprocess: true,
    });
    const written = `// ${WRITTEN_BY}\n${types}`;
    if (process.env.UPDATE_SCHEMA === '1') await Bun.write(CONSOLE_FILE, written);
    expect(await Bun.file(CONSOLE_FILE).text()).toBe(written);
  });

  test('P-14 an operation without a declared access makes the schema fail', () => {
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
