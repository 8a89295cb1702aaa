import type { Statements } from '../../ports/database.ts';
import { leastIdAt, type OperationCount } from './count-operations.ts';

export interface AiOperation {
  readonly id: string;
  /** The endpoint, as chat/completions or parse/cv. */
  readonly kind: string;
  /** Null where the call had come to none. */
  readonly alias: string | null;
  readonly outcome: OperationCount['outcome'];
  /** Why it failed or was refused, in a word. */
  readonly reason: string | null;
  readonly httpStatus: number;
  readonly promptTokens: bigint | null;
  readonly completionTokens: bigint | null;
  readonly requestId: string;
  readonly startedAt: Date;
  readonly firstByteMs: number | null;
  readonly durationMs: number;
}

export interface OperationsWish {
  /** Not before. */
  readonly from: Date;
  /** Before. */
  readonly to: Date;
  readonly kind: string | null;
  readonly outcome: OperationCount['outcome'] | null;
  readonly limit: number;
  /** The id of the last one of the page before. */
  readonly after: string | null;
}

/** An id is made a little before the call's own first moment. */
const ROOM_MS = 60_000;

/** The newest first, of all companies, and none of them named: the request id leads on to the log. */
export async function listOperations(
  statements: Statements,
  { from, to, kind, outcome, limit, after }: OperationsWish,
): Promise<readonly AiOperation[]> {
  // Those that did not succeed have an index of their own, which this has to name to be found by it.
  const isRare = outcome !== null && outcome !== 'SUCCEEDED';
  return await statements.query<AiOperation>(
    `select id, endpoint as kind, alias, outcome, reason, http_status as "httpStatus",
       prompt_tokens as "promptTokens", completion_tokens as "completionTokens", request_id as "requestId",
       started_at as "startedAt", first_byte_ms as "firstByteMs", duration_ms as "durationMs"
     from calls
     where id >= $1::uuid and id < $2::uuid and started_at >= $3 and started_at < $4
       and ($5::text is null or endpoint = $5) and ($6::text is null or outcome = $6)
       ${isRare ? "and outcome <> 'SUCCEEDED'" : ''}
       and ($7::uuid is null or id < $7::uuid)
     order by id desc limit $8`,
    [leastIdAt(from), leastIdAt(new Date(to.getTime() + 2 * ROOM_MS)), from, to, kind, outcome, after, limit],
  );
}
