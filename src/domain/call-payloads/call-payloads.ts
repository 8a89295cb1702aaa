import type { Clock } from '../../ports/clock.ts';
import type { Database, Statements } from '../../ports/database.ts';
import type { QueueDefinition, QueueWork } from '../../ports/job-queue.ts';
import type { AnswerCipher } from '../calls/idempotency/answer-cipher.ts';
import {
  boundedChunk,
  type ResealedRows,
  resealRows,
  type SealedRow,
} from '../calls/idempotency/reseal-rows.ts';
import { CHUNK_ROWS, changeInChunks } from '../retention/change-in-chunks.ts';
import { retentionQueue } from '../retention/retention-queue.ts';
import { MOST_PATTERNS, patternProblem } from './redaction.ts';

/** What is stored of a call: texts after redaction, truncated to their limit. */
export interface PayloadContent {
  readonly endpoint: string;
  readonly request: string;
  /** Null if there was none. A stream is stored as the response that it adds up to. */
  readonly response: string | null;
  readonly isRequestCut: boolean;
  readonly isResponseCut: boolean;
}

export interface CallPayload extends PayloadContent {
  readonly storedAt: Date;
  readonly expiresAt: Date;
}

/** The operator's limits. */
export interface PayloadBounds {
  /** For companies that have not set their own. */
  readonly retentionDays: number;
  /** If 0, nothing is stored, whatever the settings of keys. */
  readonly maxRetentionDays: number;
}

export interface PayloadSettings {
  readonly retentionDays: number;
  readonly redactionPatterns: readonly string[];
}

export interface NewPayload {
  readonly callId: string;
  readonly companyId: string;
  readonly keyId: string;
  readonly requestId: string;
  readonly endUser: string | null;
  readonly sealed: Uint8Array<ArrayBuffer>;
  readonly storedAtMs: number;
  readonly expiresAtMs: number;
}

export const DAY_MS = 24 * 60 * 60_000;

/** Binds a payload to its company, so that write access to the database is not enough to show it to another company. */
export function boundTo(companyId: string, callId: string): string {
  return `payload ${companyId} ${callId}`;
}

export async function addPayloads(statements: Statements, payloads: readonly NewPayload[]): Promise<void> {
  const column = <T>(of: (payload: NewPayload) => T) => payloads.map(of);
  await statements.query(
    `insert into call_payloads (call_id, company_id, key_id, request_id, end_user, sealed_payload, stored_at, expires_at)
     select call, company, key, request, end_user, decode(sealed, 'base64'), stored::timestamptz, expires::timestamptz
     from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
       as given (call, company, key, request, end_user, sealed, stored, expires)
     on conflict (call_id) do nothing`,
    [
      column(({ callId }) => callId),
      column(({ companyId }) => companyId),
      column(({ keyId }) => keyId),
      column(({ requestId }) => requestId.slice(0, 200)),
      column(({ endUser }) => endUser),
      column(({ sealed }) => sealed.toBase64()),
      column(({ storedAtMs }) => new Date(storedAtMs).toISOString()),
      column(({ expiresAtMs }) => new Date(expiresAtMs).toISOString()),
    ],
  );
}

interface PayloadRow {
  readonly callId: string;
  readonly sealed: Uint8Array;
  readonly storedAt: Date;
  readonly expiresAt: Date;
}

/**
 * The newest payload with that request id, because clients may choose the ids. Null if the company has none, or it cannot be
 * opened.
 */
export async function readPayload(
  { cipher, clock }: { readonly cipher: AnswerCipher; readonly clock: Pick<Clock, 'now'> },
  statements: Statements,
  companyId: string,
  requestId: string,
): Promise<CallPayload | null> {
  const [row] = await statements.query<PayloadRow>(
    `select call_id as "callId", sealed_payload as sealed, stored_at as "storedAt", expires_at as "expiresAt"
     from call_payloads where company_id = $1 and request_id = $2 and expires_at > $3
     order by stored_at desc, call_id desc limit 1`,
    [companyId, requestId, new Date(clock.now())],
  );
  if (row === undefined) return null;
  const bytes = await cipher.open(row.sealed, boundTo(companyId, row.callId));
  if (bytes === null) return null;
  const content = JSON.parse(new TextDecoder().decode(bytes)) as PayloadContent;
  return { ...content, storedAt: row.storedAt, expiresAt: row.expiresAt };
}

interface SealedPayload extends SealedRow {
  readonly callId: string;
}

const SEALED = boundedChunk(
  `select call_id, call_id as "callId", 'payload ' || company_id || ' ' || call_id as "boundTo", sealed_payload as sealed
   from call_payloads where $1::uuid is null or call_id > $1`,
  'call_id',
);

/** For a change of MASTER_KEY. */
export async function resealPayloads(statements: Statements, cipher: AnswerCipher): Promise<ResealedRows> {
  return await resealRows<SealedPayload>(cipher, {
    read: (after) => statements.query(SEALED, [after?.callId ?? null]),
    write: (rows) =>
      statements.query(
        `update call_payloads set sealed_payload = decode(given.sealed, 'base64')
         from unnest($1::uuid[], $2::text[]) as given (call_id, sealed) where call_payloads.call_id = given.call_id`,
        [rows.map(({ row }) => row.callId), rows.map(({ sealed }) => sealed)],
      ),
  });
}

/** Erases the payloads of a request, of an end user, or those that match both. Returns the number erased. */
export async function erasePayloads(
  statements: Statements,
  companyId: string,
  { requestId, endUser }: { readonly requestId: string | null; readonly endUser: string | null },
): Promise<number> {
  const [row] = await statements.query<{ count: bigint }>(
    `with erased as (delete from call_payloads where company_id = $1
       and ($2::text is null or request_id = $2) and ($3::text is null or end_user = $3) returning 1)
     select count(*) from erased`,
    [companyId, requestId, endUser],
  );
  return Number(row?.count ?? 0);
}

interface SettingsRow {
  readonly companyId: string;
  readonly retentionDays: number | null;
  readonly redactionPatterns: readonly string[];
}

/** The settings of each of these companies; what they have not set is the operator's default. */
export async function findPayloadSettings(
  statements: Statements,
  bounds: PayloadBounds,
  companyIds: readonly string[],
): Promise<ReadonlyMap<string, PayloadSettings>> {
  const rows = await statements.query<SettingsRow>(
    `select company_id as "companyId", retention_days as "retentionDays", redaction_patterns as "redactionPatterns"
     from payload_settings where company_id = any ($1::uuid[])`,
    [companyIds],
  );
  const chosen = new Map(rows.map((row) => [row.companyId, row]));
  return new Map(
    companyIds.map((id) => {
      const own = chosen.get(id);
      const configured = own?.retentionDays ?? bounds.retentionDays;
      const retentionDays = Math.min(configured, bounds.maxRetentionDays);
      return [id, { retentionDays, redactionPatterns: own?.redactionPatterns ?? [] }];
    }),
  );
}

type ChangedSettings =
  | { readonly outcome: 'changed'; readonly settings: PayloadSettings }
  | { readonly outcome: 'invalid'; readonly field: keyof PayloadSettings; readonly message: string };

/** Undefined keeps a setting. A shorter retention also applies to stored payloads; a longer one does not. */
export async function changePayloadSettings(
  statements: Statements,
  bounds: PayloadBounds,
  companyId: string,
  changes: Partial<PayloadSettings>,
): Promise<ChangedSettings> {
  const { retentionDays, redactionPatterns } = changes;
  const most = bounds.maxRetentionDays;
  const isDays =
    Number.isInteger(retentionDays) && Number(retentionDays) >= 1 && Number(retentionDays) <= most;
  if (retentionDays !== undefined && !isDays) {
    const message = `whole days from 1 to ${most} are possible, the most that the operator permits`;
    return { outcome: 'invalid', field: 'retentionDays', message };
  }
  const patterns = redactionPatterns?.map((pattern) => pattern.trim()).filter((pattern) => pattern !== '');
  const complaint =
    (patterns?.length ?? 0) > MOST_PATTERNS
      ? `at most ${MOST_PATTERNS} patterns are possible`
      : (patterns?.map(patternProblem).find((one) => one !== null) ?? null);
  if (complaint !== null) return { outcome: 'invalid', field: 'redactionPatterns', message: complaint };
  await statements.query(
    `insert into payload_settings as own (company_id, retention_days, redaction_patterns)
     values ($1, $2, coalesce($3::text[], '{}'))
     on conflict (company_id) do update set retention_days = coalesce($2, own.retention_days),
       redaction_patterns = coalesce($3::text[], own.redaction_patterns)`,
    [companyId, retentionDays ?? null, patterns ?? null],
  );
  if (retentionDays !== undefined) {
    await statements.query(
      `update call_payloads set expires_at = stored_at + $2 * interval '1 day'
       where company_id = $1 and expires_at > stored_at + $2 * interval '1 day'`,
      [companyId, retentionDays],
    );
  }
  const settings = (await findPayloadSettings(statements, bounds, [companyId])).get(companyId);
  return { outcome: 'changed', settings: settings ?? { retentionDays: most, redactionPatterns: [] } };
}

/** The rest is left for the next run. */
const MOST_CHUNKS = 50;

const PURGE = `delete from call_payloads
  where call_id = any (array(
    select call_id from call_payloads where expires_at <= $1
    order by expires_at limit ${CHUNK_ROWS} for update skip locked))`;

interface PurgeParts {
  readonly database: Database;
  readonly clock: Pick<Clock, 'now'>;
}

/** Removes expired payloads. Several processes may do this concurrently. */
export async function purgePayloads({ database, clock }: PurgeParts): Promise<number> {
  const values = [new Date(clock.now())];
  return (await changeInChunks(database, { sql: PURGE, values, maxChunks: MOST_CHUNKS })).rows;
}

const PAYLOADS_QUEUE = retentionQueue('payloads-retention');

export const PAYLOAD_QUEUES: readonly QueueDefinition[] = [PAYLOADS_QUEUE];

export function payloadWork(parts: PurgeParts): readonly QueueWork[] {
  const handler = async () => void (await purgePayloads(parts));
  return [{ queue: PAYLOADS_QUEUE, concurrency: 1, cron: '*/20 * * * *', handler }];
}
