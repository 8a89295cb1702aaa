import { isObject } from '../../ports/json-object.ts';
import type { LogContext } from '../../ports/log.ts';
import { judgeName, mayShow, type NameVerdict, REDACTED, redactShapes } from './secret-patterns.ts';

/** Limits of one entry. Its total is approximately this many bytes of JSON. */
export const ENTRY_BYTES = 16_384;
const TEXT_LENGTH = 2_048;
const DEPTH = 6;
const FIELDS = 50;
const NAME_LENGTH = 100;
/** Limits the cache: field names from requests, such as headers, must not fill the memory. */
const NAMES_REMEMBERED = 1_000;
/** Converting a bigint to text takes quadratic time, so larger ones are replaced by a placeholder. */
const HUGE = 2n ** 256n;

export interface Redacted {
  readonly context: LogContext;
  /** Approximate bytes of JSON. */
  readonly bytes: number;
}

interface Redactor {
  text(text: string): string;
  /** Returns plain JSON values without secrets, within the rest of the entry's limit. Never throws. */
  context(context: LogContext, usedBytes: number): Redacted;
}

interface Walk {
  left: number;
  readonly ancestors: object[];
  readonly nameOf: (key: string) => Name;
}

interface Name {
  readonly label: string;
  readonly verdict: NameVerdict;
}

export function createRedactor(): Redactor {
  const names = new Map<string, Name>();

  function nameOf(key: string): Name {
    const known = names.get(key);
    if (known !== undefined) return known;
    const name = { label: boundedText(key).slice(0, NAME_LENGTH), verdict: judgeName(key) };
    if (key.length <= NAME_LENGTH && names.size < NAMES_REMEMBERED) names.set(key, name);
    return name;
  }

  return {
    text: boundedText,
    context(context, usedBytes) {
      const walk: Walk = { left: ENTRY_BYTES - usedBytes, ancestors: [], nameOf };
      const clean = visit(context, walk);
      const bytes = ENTRY_BYTES - usedBytes - walk.left;
      // A context that cannot be enumerated (a proxy, a string from untyped code) is replaced by a placeholder.
      return { context: isObject(clean) ? clean : { context: clean }, bytes };
    },
  };
}

function visit(value: unknown, walk: Walk): unknown {
  switch (typeof value) {
    case 'string':
      return spendText(boundedText(value), walk);
    case 'number':
      walk.left -= Math.abs(value) < 1e6 && Number.isInteger(value) ? 7 : 24;
      return Number.isFinite(value) ? value : String(value);
    case 'boolean':
    case 'undefined':
      walk.left -= 5;
      return value;
    case 'bigint':
      return spendText(value < HUGE && value > -HUGE ? String(value) : '[huge bigint]', walk);
    case 'object':
      walk.left -= 4;
      return value === null ? null : visitObject(value, walk);
    default:
      walk.left -= 10;
      return `[${typeof value}]`;
  }
}

function visitObject(value: object, walk: Walk): unknown {
  if (walk.ancestors.includes(value)) return visit('[circular]', walk);
  if (walk.ancestors.length >= DEPTH) return visit('[too deep]', walk);
  walk.ancestors.push(value);
  try {
    return visitKind(value, walk);
  } catch {
    // A getter or a proxy's trap threw.
    return visit('[unreadable]', walk);
  } finally {
    walk.ancestors.pop();
  }
}

function visitKind(value: object, walk: Walk): unknown {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return visitFields(value, walk);
  if (Array.isArray(value)) return visitList(value, value.length, walk);
  if (value instanceof Error) return visitError(value, walk);
  if (value instanceof Map || value instanceof Headers || value instanceof URLSearchParams) {
    const first = Object.fromEntries(firstEntries(value));
    return visitFields(first, walk, value instanceof Map ? value.size : undefined);
  }
  if (value instanceof Set) return visitList(value, value.size, walk);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'invalid date' : value.toISOString();
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
  if (value instanceof URL || value instanceof RegExp) return visit(String(value), walk);
  if (value instanceof String || value instanceof Number) return visit(value.valueOf(), walk);
  const fields = visitFields(value, walk);
  return Object.keys(fields).length > 0 ? fields : visit(`[${value.constructor.name}]`, walk);
}

/** The message of an Error is shown; a `message` field of any other object may contain user content. */
function visitError(error: Error, walk: Walk): LogContext {
  const { name, message, stack, cause } = error;
  walk.left -= 30;
  const fields: Record<string, unknown> = { name: visit(name, walk), message: visit(message, walk) };
  fields.stack = visit(stack, walk);
  if (cause !== undefined) fields.cause = visit(cause, walk);
  if ('errors' in error) fields.errors = visit(error.errors, walk);
  // Other fields (a code, a reason) come last and must not replace the name or message.
  return { ...fields, ...visitFields(error, walk), ...fields };
}

function visitFields(value: object, walk: Walk, total?: number): LogContext {
  const fields: Record<string, unknown> = {};
  const keys = Object.keys(value);
  let shown = 0;
  for (const key of keys) {
    if (shown === FIELDS || walk.left <= 0) {
      fields['…'] = `${(total ?? keys.length) - shown} more`;
      break;
    }
    shown += 1;
    const { label, verdict } = walk.nameOf(key);
    // Assigning __proto__ would change the prototype instead of adding a field.
    if (label === '__proto__') continue;
    walk.left -= label.length + 4;
    fields[label] = visitField(value, key, verdict, walk);
  }
  return fields;
}

function visitField(owner: object, key: string, verdict: NameVerdict, walk: Walk): unknown {
  let value: unknown;
  try {
    value = Reflect.get(owner, key);
  } catch {
    return '[unreadable]';
  }
  // {name: "authorization", value: …}: the name is in the neighbouring field.
  const effective = verdict === 'open' && key === 'value' ? verdictBeside(owner, walk) : verdict;
  return mayShow(effective, value) ? visit(value, walk) : visit(REDACTED, walk);
}

function verdictBeside(owner: object, walk: Walk): NameVerdict {
  const beside = 'name' in owner ? owner.name : 'key' in owner ? owner.key : null;
  return typeof beside === 'string' ? walk.nameOf(beside).verdict : 'open';
}

function visitList(values: Iterable<unknown>, length: number, walk: Walk): unknown[] {
  const list: unknown[] = [];
  for (const value of values) {
    if (list.length === FIELDS || walk.left <= 0) {
      list.push(`… ${length - list.length} more`);
      break;
    }
    walk.left -= 1;
    list.push(isPair(value) ? visitPair(value, walk) : (visit(value, walk) ?? null));
  }
  return list;
}

/** An item of a list of [name, value] pairs, such as headers. */
function visitPair([name, value]: readonly [string, unknown], walk: Walk): unknown[] {
  const shown = mayShow(walk.nameOf(name).verdict, value) ? value : REDACTED;
  return [visit(name, walk), visit(shown, walk) ?? null];
}

function isPair(value: unknown): value is readonly [string, unknown] {
  return Array.isArray(value) && value.length === 2 && typeof value[0] === 'string';
}

function* firstEntries(entries: Iterable<[unknown, unknown]>): Generator<[string, unknown]> {
  let count = 0;
  for (const [key, value] of entries) {
    yield [typeof key === 'object' && key !== null ? `[object ${count}]` : String(key), value];
    count += 1;
    if (count > FIELDS) return;
  }
}

/**
 * A long text is truncated before the search, whose cost grows with length, and again after it. The first truncation may
 * cut through a secret, which is then not recognized, so the last 512 characters are dropped.
 */
function boundedText(text: string): string {
  if (text.length <= TEXT_LENGTH) return storable(redactShapes(text));
  const beginning = redactShapes(text.slice(0, 2 * TEXT_LENGTH));
  const wholeSeen = text.length <= 2 * TEXT_LENGTH;
  const end = wholeSeen ? TEXT_LENGTH : Math.max(0, Math.min(TEXT_LENGTH, beginning.length - 512));
  return storable(`${beginning.slice(0, end)}… [${text.length} characters]`);
}

/** PostgreSQL rejects NUL characters and unpaired surrogates. */
function storable(text: string): string {
  return /[\0\ud800-\udfff]/.test(text) ? text.replaceAll('\0', '\ufffd').toWellFormed() : text;
}

/** Quotes, backslashes and what is not printable ASCII take two to six bytes of JSON each. */
function spendText(text: string, walk: Walk): string {
  const bytes = /[^ !#-[\]-~]/.test(text) ? Buffer.byteLength(JSON.stringify(text)) : text.length;
  if (bytes > walk.left && text.length > REDACTED.length) {
    walk.left -= 7;
    return '[cut]';
  }
  walk.left -= bytes + 2;
  return text;
}
