import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSchema, parse, validate } from 'graphql';
import { checkQuery } from '../../src/backend/graphql/query-limits.ts';
import { createSchema } from '../../src/backend/graphql/schema.ts';

const root = join(import.meta.dir, '../..');
const schema = buildSchema(readFileSync(join(root, 'src/backend/graphql/schema.graphql'), 'utf8'));
const priced = createSchema();
const files = [...new Bun.Glob('console/**/*.{ts,tsx}').scanSync(root)].sort();
const queries = files.flatMap((file) => {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(/graphql\(\s*`([^`]*)`/g)].map(([, query = '']) => ({ file, query }));
});

describe('the console’s queries', () => {
  test.each(queries)('$file matches the schema', ({ query }) => {
    expect(validate(schema, parse(query)).map(({ message }) => message)).toEqual([]);
  });

  test.each(queries)('$file is within the limits of a query', ({ query }) => {
    expect(checkQuery(priced, parse(query)).map(({ message }) => message)).toEqual([]);
  });

  test('are found', () => {
    expect(queries.length).toBeGreaterThan(40);
  });
});
