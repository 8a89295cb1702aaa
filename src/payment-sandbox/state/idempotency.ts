import type { Statements } from '../../ports/database.ts';
import { refusal } from '../api-errors.ts';

export interface KeyedRequest {
  readonly key: string;
  readonly path: string;
  /** Equal if and only if the parameters are equal. */
  readonly fingerprint: string;
}

export interface StoredReply {
  readonly status: number;
  readonly body: object;
}

/** The provider forgets a key after a day. */
const KEPT_MS = 24 * 3_600_000;

/** The first answer to this key, or null if there was none. A key that was used for another request is refused. */
export async function findReplay(
  statements: Statements,
  { key, path, fingerprint }: KeyedRequest,
  nowMs: number,
): Promise<StoredReply | null> {
  const rows = await statements.query<StoredReply & { path: string; fingerprint: string }>(
    `select path, fingerprint, status, body from payment_sandbox_replays
     where idempotency_key = $1 and made_at > $2`,
    [key, new Date(nowMs - KEPT_MS)],
  );
  const found = rows[0];
  if (found === undefined) return null;
  if (found.path === path && found.fingerprint === fingerprint) return found;
  const same =
    found.path === path
      ? 'with the same parameters they were first used with'
      : `for the same endpoint they were first used for ('${found.path}')`;
  const message = `Keys for idempotent requests can only be used ${same}. Try using a key other than '${key}' if you meant to execute a different request.`;
  throw refusal(400, { type: 'idempotency_error', message });
}

export async function storeReply(
  statements: Statements,
  { key, path, fingerprint }: KeyedRequest,
  { status, body }: StoredReply,
  nowMs: number,
): Promise<void> {
  await statements.query(
    `insert into payment_sandbox_replays (idempotency_key, path, fingerprint, status, body, made_at)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (idempotency_key) do update set path = excluded.path, fingerprint = excluded.fingerprint,
       status = excluded.status, body = excluded.body, made_at = excluded.made_at`,
    [key, path, fingerprint, status, { ...body }, new Date(nowMs)],
  );
}

export async function pruneReplays(statements: Statements, nowMs: number): Promise<void> {
  const oldest = new Date(nowMs - KEPT_MS);
  await statements.query('delete from payment_sandbox_replays where made_at <= $1', [oldest]);
}
