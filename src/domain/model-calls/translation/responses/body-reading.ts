import { isObject, type JsonObject } from '../../../../ports/json-object.ts';

/** Writing JSON that is nested some 10,000 levels deep overflows the stack; no request or answer needs so many. */
export const MOST_LEVELS = 500;

/** Undefined where it is not JSON, or nested too deeply. */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Collects what is wrong with a body while it is translated. The first problem is the answer, so readers go on with
 * whatever they return and no error is thrown.
 */
export interface BodyProblems {
  readonly first: { readonly message: string; readonly param: string | null } | null;
  add(message: string, param: string | null): void;
}

export function createBodyProblems(): BodyProblems {
  let first: BodyProblems['first'] = null;
  return {
    get first() {
      return first;
    },
    add(message, param) {
      first ??= { message, param };
    },
  };
}

const TYPES = {
  string: (value: unknown): value is string => typeof value === 'string',
  boolean: (value: unknown): value is boolean => typeof value === 'boolean',
  number: (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value),
  object: isObject,
  array: (value: unknown): value is readonly unknown[] => Array.isArray(value),
};

interface MemberTypes {
  readonly string: string;
  readonly boolean: boolean;
  readonly number: number;
  readonly object: JsonObject;
  readonly array: readonly unknown[];
}

/** A member of that type; null where it is missing or null. Another type is a problem, named by `param`. */
export function readMember<T extends keyof MemberTypes>(
  problems: BodyProblems,
  value: unknown,
  type: T,
  param: string,
): MemberTypes[T] | null {
  if (value === undefined || value === null) return null;
  const isOfType = TYPES[type] as (value: unknown) => value is MemberTypes[T];
  if (isOfType(value)) return value;
  problems.add(`'${param}' must be ${type === 'array' || type === 'object' ? 'an' : 'a'} ${type}.`, param);
  return null;
}

/** As readMember, and missing is a problem too. */
export function readNeeded<T extends keyof MemberTypes>(
  problems: BodyProblems,
  value: unknown,
  type: T,
  param: string,
): MemberTypes[T] | null {
  const found = readMember(problems, value, type, param);
  if (found === null) problems.add(`'${param}' is missing.`, param);
  return found;
}

function isTooDeep(text: string): boolean {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isInString) {
      if (code === BACKSLASH) at += 1;
      else if (code === QUOTE) isInString = false;
    } else if (code === QUOTE) {
      isInString = true;
    } else if (code === OPENING_BRACE || code === OPENING_BRACKET) {
      depth += 1;
      if (depth > MOST_LEVELS) return true;
    } else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) {
      depth -= 1;
    }
  }
  return false;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
