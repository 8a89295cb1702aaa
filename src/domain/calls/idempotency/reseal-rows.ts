import type { AnswerCipher } from './answer-cipher.ts';

export interface SealedRow {
  readonly sealed: Uint8Array;
  readonly boundTo: string;
}

export interface ResealedRows {
  /** Rows that are now under the first master key, including those that already were. */
  readonly current: number;
  /** Rows that no given master key opens; they are not changed. */
  readonly unreadable: number;
}

interface RowsToReseal<Row extends SealedRow> {
  /** The next rows after this one, ordered by key; empty at the end. */
  read(after: Row | null): Promise<readonly Row[]>;
  /** Rows that no longer exist are skipped. */
  write(rows: readonly { readonly row: Row; readonly sealed: string }[]): Promise<unknown>;
}

/**
 * Encrypts every row again under the first master key, so that the others can be retired. It may run beside the services,
 * which open both, and may be repeated: rows that are done are read but not changed.
 */
export async function resealRows<Row extends SealedRow>(
  cipher: AnswerCipher,
  { read, write }: RowsToReseal<Row>,
): Promise<ResealedRows> {
  let [current, unreadable] = [0, 0];
  let after: Row | null = null;
  for (;;) {
    const rows: readonly Row[] = await read(after);
    after = rows.at(-1) ?? null;
    if (after === null) return { current, unreadable };
    const changed: { row: Row; sealed: string }[] = [];
    for (const row of rows) {
      const sealed = await cipher.reseal(row.sealed, row.boundTo);
      if (sealed === 'unreadable') unreadable += 1;
      else current += 1;
      if (typeof sealed !== 'string') changed.push({ row, sealed: sealed.toBase64() });
    }
    if (changed.length > 0) await write(changed);
  }
}

const CHUNK_ROWS = 500;
const CHUNK_BYTES = 16 * 1024 * 1024;

/**
 * Limits a chunk by rows and by bytes: at least one row, and as many more as fit. `select` must have a column `sealed`, and
 * `key` names the columns of its order. Sizes are read without the content itself.
 */
export function boundedChunk(select: string, key: string): string {
  return `select * from (
      select found.*, row_number() over (order by ${key}) as place,
        sum(octet_length(sealed)) over (order by ${key} rows unbounded preceding) as bytes
      from (${select} order by ${key} limit ${CHUNK_ROWS}) as found) as counted
    where place = 1 or bytes <= ${CHUNK_BYTES} order by place`;
}
