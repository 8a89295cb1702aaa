import { expect, test } from 'bun:test';
import type { Database } from '../../ports/database.ts';
import { CHUNK_ROWS, changeInChunks } from './change-in-chunks.ts';

/** Says of each statement that it changed as many rows as the next of `counts`. */
function countingDatabase(counts: readonly number[]) {
  const statements: string[] = [];
  const query = async (sql: string) => {
    statements.push(sql);
    return [{ count: BigInt(counts[statements.length - 1] ?? 0) }];
  };
  return { statements, database: { query } as unknown as Database };
}

const change = { sql: 'delete from things where id = any ($1)', values: [1] };

test('chunks follow each other until one is not full', async () => {
  const { database, statements } = countingDatabase([CHUNK_ROWS, CHUNK_ROWS, 3]);
  expect(await changeInChunks(database, change)).toEqual({ rows: 2 * CHUNK_ROWS + 3, isDone: true });
  expect(statements).toHaveLength(3);
  expect(statements[0]).toContain(`(${change.sql} returning 1)`);
});

test('the bound on chunks ends it, and says that rows may be left', async () => {
  const { database, statements } = countingDatabase([20, 20, 20]);
  const bounded = { ...change, chunkRows: 20, maxChunks: 2 };
  expect(await changeInChunks(database, bounded)).toEqual({ rows: 40, isDone: false });
  expect(statements).toHaveLength(2);
});

test('an aborted signal ends it between two chunks', async () => {
  const { database, statements } = countingDatabase([CHUNK_ROWS, CHUNK_ROWS]);
  const stopping = new AbortController();
  const query = async (...given: Parameters<Database['query']>) => {
    stopping.abort();
    return await database.query(...given);
  };
  const stopped = changeInChunks({ query } as unknown as Database, { ...change, signal: stopping.signal });
  await expect(stopped).rejects.toThrow();
  expect(statements).toHaveLength(1);
});
