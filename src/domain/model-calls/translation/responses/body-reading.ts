import { isObject, type JsonObject } from '../../../../ports/json-object.ts';
import { isTooDeep } from '../json-depth.ts';

/** Undefined if it is not JSON, or is nested too deeply. */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Collects the problems of a body while it is translated. The first problem becomes the answer, so the readers continue
 * with whatever they return and throw no error.
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

/** A member of that type; null if it is missing or null. Another type is a problem, reported with `param`. */
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

/** Like readMember, but a missing member is a problem too. */
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
