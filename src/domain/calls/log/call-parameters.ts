import { momentIn } from '../usage/usage-range.ts';
import type { CallFormat } from './call-lines.ts';
import { type CallLogFilter, isCallCursor } from './call-log.ts';

const MOST_CALLS = 100;
const MOST_EXPORTED = 1_000_000;
const LONGEST_TEXT = 200;
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The query parameters that select calls, for REST and exports. The caller restricts them to the permitted calls. */
interface CallParameters {
  readonly filter: CallLogFilter;
  readonly format: 'json' | CallFormat;
  readonly limit: number | null;
  readonly after: string | null;
}

type ReadCallParameters =
  | { readonly outcome: 'read'; readonly parameters: CallParameters }
  | { readonly outcome: 'invalid'; readonly param: string; readonly message: string };

const PARAMETERS = [
  ...['from', 'to', 'model', 'status', 'code', 'user', 'tag', 'request_id', 'limit', 'after', 'format'],
  ...['api_key_id', 'company_id', 'min_duration_ms', 'min_credits'],
];
const TEXTS = ['model', 'code', 'user', 'tag', 'request_id'] as const;
const FORMATS = ['json', 'csv', 'jsonl'] as const;

export function readCallParameters(search: URLSearchParams): ReadCallParameters {
  const invalid = (param: string, message: string) => ({ outcome: 'invalid', param, message }) as const;
  for (const name of PARAMETERS) {
    if (search.getAll(name).length > 1) return invalid(name, `Give ${name} once.`);
  }
  for (const name of TEXTS) {
    const text = search.get(name) ?? '';
    if (text.length > LONGEST_TEXT || /\p{Cc}/u.test(text)) {
      return invalid(name, `${name} has at most ${LONGEST_TEXT} characters, without control characters.`);
    }
  }
  const format = FORMATS.find((one) => one === (search.get('format') || 'json'));
  if (format === undefined) return invalid('format', `format is one of ${FORMATS.join(', ')}.`);
  const status = search.get('status') || null;
  if (status !== null && !/^[1-5]\d\d$/.test(status)) {
    return invalid('status', 'status is an HTTP status such as 200 or 429.');
  }
  const most = format === 'json' ? MOST_CALLS : MOST_EXPORTED;
  const limit = search.get('limit') || null;
  if (limit !== null && (!/^\d{1,7}$/.test(limit) || Number(limit) < 1 || Number(limit) > most)) {
    return invalid('limit', `limit is a number from 1 to ${most}.`);
  }
  const after = search.get('after') || null;
  if (after !== null && !isCallCursor(after)) return invalid('after', 'after is the next_cursor of a page.');
  const times: { from: Date | null; to: Date | null } = { from: null, to: null };
  for (const name of ['from', 'to'] as const) {
    const text = search.get(name) ?? '';
    times[name] = text === '' ? null : momentIn(text);
    if (text !== '' && times[name] === null) return invalid(name, notATime(name));
  }
  for (const name of ['api_key_id', 'company_id'] as const) {
    const id = search.get(name) || null;
    if (id !== null && !ID.test(id)) return invalid(name, `${name} is an id.`);
  }
  const minDuration = search.get('min_duration_ms') || null;
  if (minDuration !== null && !/^\d{1,9}$/.test(minDuration)) {
    return invalid('min_duration_ms', 'min_duration_ms is a number of milliseconds.');
  }
  const minCredits = search.get('min_credits') || null;
  const minChargeMicro = minCredits === null ? null : microIn(minCredits);
  if (minCredits !== null && minChargeMicro === null) {
    return invalid('min_credits', 'min_credits is a number such as 0.25, with at most six decimals.');
  }
  const filter = {
    ...times,
    status: status === null ? null : Number(status),
    model: search.get('model') || null,
    code: search.get('code') || null,
    endUser: search.get('user') || null,
    tag: search.get('tag') || null,
    requestId: search.get('request_id') || null,
    keyId: search.get('api_key_id') || null,
    companyId: search.get('company_id') || null,
    minDurationMs: minDuration === null ? null : Number(minDuration),
    minChargeMicro,
  };
  const parameters = { filter, format, after, limit: limit === null ? null : Number(limit) };
  return { outcome: 'read', parameters };
}

/** Exact, without floating point. */
function microIn(text: string): bigint | null {
  const [, whole = '', part = ''] = /^(\d{1,12})(?:\.(\d{1,6}))?$/.exec(text) ?? [];
  return whole === '' ? null : BigInt(whole) * 1_000_000n + BigInt(part.padEnd(6, '0'));
}

function notATime(param: string): string {
  return `${param} must be a day such as 2026-01-31, or a time with its zone such as 2026-01-31T12:00:00Z.`;
}
