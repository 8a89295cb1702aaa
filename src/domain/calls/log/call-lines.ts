import type { Statements } from '../../../ports/database.ts';
import { creditsAsNumber, creditsOfMicro } from '../../credits/ledger/credit-account.ts';
import { textField } from '../../credits/ledger/statement.ts';
import { WHOLE_PRICE } from '../../models/tiers/tiers.ts';
import { type CallLogFilter, type LoggedCall, listCalls } from './call-log.ts';

export type CallFormat = 'csv' | 'jsonl';

export const CALL_FORMAT_TYPES: Readonly<Record<CallFormat, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  jsonl: 'application/jsonl; charset=utf-8',
};

/** A call with the field names of the REST API. */
export function shownCall(call: LoggedCall) {
  return {
    id: call.id,
    request_id: call.requestId,
    created_at: call.startedAt.toISOString(),
    endpoint: call.endpoint,
    mcp: call.overMcp,
    model: call.model,
    served_by: call.servedBy,
    status: call.httpStatus,
    code: call.code,
    stream: call.streamed,
    prompt_tokens: numberOf(call.promptTokens),
    cached_tokens: numberOf(call.cachedTokens),
    cache_write_tokens: numberOf(call.cacheWriteTokens),
    completion_tokens: numberOf(call.completionTokens),
    credits: creditsAsNumber(call.chargeMicro),
    tool_credits: creditsAsNumber(call.surchargeMicro),
    first_token_ms: call.firstByteMs,
    duration_ms: call.durationMs,
    user: call.endUser,
    tags: call.tags,
    project: call.project,
    cache_hit: call.cacheHit,
    count: call.count,
    tier: call.tier,
    price_factor: priceFactorOf(call),
    hour_write_tokens: numberOf(call.hourWriteTokens),
    completion_price_factor: completionPriceFactorOf(call),
    priced_as: call.pricedAs,
    unpriced: call.unpriced,
  };
}

/** 1 at the regular price. */
export function priceFactorOf({ priceFactorMillionths }: Pick<LoggedCall, 'priceFactorMillionths'>): number {
  return (priceFactorMillionths ?? WHOLE_PRICE) / WHOLE_PRICE;
}

/** That of the completion, which differs after some long prompts. */
export function completionPriceFactorOf({
  completionFactorMillionths: own,
  ...call
}: Pick<LoggedCall, 'priceFactorMillionths' | 'completionFactorMillionths'>): number {
  return own === null ? priceFactorOf(call) : own / WHOLE_PRICE;
}

/** Which additional fields are included: the id of the key, and those for operators. */
interface MoreFields {
  readonly ofKey: boolean;
  readonly ofOperator: boolean;
}

function exportedCall(
  call: LoggedCall,
  { ofKey, ofOperator }: MoreFields,
): Readonly<Record<string, unknown>> {
  return {
    ...shownCall(call),
    ...(ofKey ? { api_key_id: call.keyId } : {}),
    ...(ofOperator
      ? {
          company_id: call.companyId,
          target: call.targetId,
          tries: call.tries,
          cost_credits: call.costMicro === null ? null : creditsAsNumber(call.costMicro),
        }
      : {}),
  };
}

function numberOf(tokens: bigint | null): number | null {
  return tokens === null ? null : Number(tokens);
}

interface CallExport extends MoreFields {
  readonly filter: CallLogFilter;
  readonly format: CallFormat;
  /** Null is unlimited. */
  readonly limit: number | null;
  readonly after: string | null;
}

const ROWS_A_STATEMENT = 1_000;

/**
 * Calls as the text of a file, the newest first, in chunks of the rows of one statement: one chunk is in memory at a time,
 * and no transaction is open between two chunks.
 */
export async function* exportCallLines(
  statements: Statements,
  { filter, format, limit, after: first, ...more }: CallExport,
): AsyncGenerator<string, void, undefined> {
  if (format === 'csv') yield `${Object.keys(exportedCall(NO_CALL, more)).join(',')}\r\n`;
  let left = limit ?? Number.POSITIVE_INFINITY;
  for (let after = first; left > 0; ) {
    const page = await listCalls(statements, filter, { limit: Math.min(left, ROWS_A_STATEMENT), after });
    left -= page.calls.length;
    const lines = page.calls.map((call) => lineOf(call, format, more));
    if (lines.length > 0) yield lines.join('');
    if (page.next === null) return;
    after = page.next;
  }
}

function lineOf(call: LoggedCall, format: CallFormat, more: MoreFields): string {
  const shown = exportedCall(call, more);
  if (format === 'jsonl') return `${JSON.stringify(shown)}\n`;
  const exact = {
    credits: creditsOfMicro(call.chargeMicro),
    tool_credits: creditsOfMicro(call.surchargeMicro),
  };
  return `${Object.entries({ ...shown, ...exact })
    .map(([, value]) => cellOf(value))
    .join(',')}\r\n`;
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return textField(Array.isArray(value) ? value.join(' ') : String(value));
}

const NO_CALL: LoggedCall = {
  ...{ id: '', requestId: '', companyId: '', keyId: null, startedAt: new Date(0), endpoint: '' },
  ...{
    overMcp: false,
    model: null,
    servedBy: null,
    pricedAs: null,
    outcome: 'SUCCEEDED',
    httpStatus: 200,
    code: null,
  },
  ...{
    streamed: false,
    promptTokens: null,
    cachedTokens: null,
    cacheWriteTokens: null,
    completionTokens: null,
  },
  ...{ chargeMicro: 0n, surchargeMicro: 0n, firstByteMs: null, durationMs: 0, endUser: null, tags: [] },
  ...{ project: null, cacheHit: false, ownKey: false, count: 1, targetId: null, tries: 1, costMicro: null },
  ...{
    priceId: null,
    tier: null,
    priceFactorMillionths: null,
    completionFactorMillionths: null,
    hourWriteTokens: null,
    unpriced: [],
  },
};

/**
 * A body that reads one chunk for each pull, and nothing ahead. If a response is never read, as for HEAD, the generator never
 * starts and needs no cleanup.
 */
export function bodyOfLines(lines: AsyncGenerator<string, void, undefined>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const source: UnderlyingDefaultSource<Uint8Array> = {
    async pull(controller) {
      try {
        const next = await lines.next();
        if (next.done === true) controller.close();
        else controller.enqueue(encoder.encode(next.value));
      } catch (error) {
        controller.error(error);
      }
    },
    async cancel() {
      await lines.return();
    },
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}
