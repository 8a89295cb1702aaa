import { isObject } from '../../../ports/json-object.ts';
import type { FoundValues } from './found-values.ts';

/**
 * A value that follows a JSON schema: what the conversation says under a property's name, or else the simplest value
 * that is valid. Supports types, enum, const, default, properties, required, items, prefixItems, bounds, formats,
 * anyOf, oneOf, allOf and $ref, but not `pattern`: a client's expression might run for hours.
 *
 * Limited to 12 levels and 1,000 values; beyond them, objects and lists are not filled any further.
 */
export function schemaValue(root: unknown, found: FoundValues): unknown {
  let valuesLeft = MAX_VALUES;

  /**
   * `isFound` distinguishes values from the conversation from fillers; an optional property without a value is omitted.
   */
  function fill(given: unknown, name: string, level: number): Filled {
    if (valuesLeft <= 0) return { value: null, isFound: false };
    valuesLeft -= 1;
    const schema = schemaAt(root, given);
    if ('const' in schema) return { value: schema.const, isFound: false };
    if (Array.isArray(schema.enum) && schema.enum.length > 0) return fillEnum(schema.enum);
    const options = schema.anyOf ?? schema.oneOf;
    if (Array.isArray(options) && options.length > 0) return fillOption(options, name, level);
    const { type, isNullable } = typeOf(schema);
    const filled = fillType(schema, type, name, level);
    if (filled.isFound) return filled;
    if ('default' in schema) return { value: schema.default, isFound: false };
    return isNullable ? { value: null, isFound: false } : filled;
  }

  function fillType(schema: Schema, type: string, name: string, level: number): Filled {
    switch (type) {
      case 'object':
        return fillObject(schema, level);
      case 'array':
        return fillArray(schema, name, level);
      case 'string':
        return fillFrom(found.text(name), (text) => textWithin(schema, text));
      case 'integer':
      case 'number':
        return fillFrom(found.number(name), (number) => numberWithin(schema, number, type === 'integer'));
      case 'boolean':
        return fillFrom(found.boolean(name), (value) => value ?? false);
      default:
        return { value: null, isFound: false };
    }
  }

  function fillEnum(options: readonly unknown[]): Filled {
    const [mentioned] = found.mentioned(textsAmong(options));
    return { value: mentioned ?? options[0], isFound: mentioned !== undefined };
  }

  /** The first option, but null at deeper levels if it is allowed, which ends recursive schemas. */
  function fillOption(options: readonly unknown[], name: string, level: number): Filled {
    const allowsNull = options.some((option) => typeOf(schemaAt(root, option)).type === 'null');
    if (allowsNull && level >= NULL_LEVEL) return { value: null, isFound: false };
    return fill(options[0], name, level);
  }

  function fillObject(schema: Schema, level: number): Filled {
    const value: Record<string, unknown> = {};
    let isFound = false;
    const required = new Set(Array.isArray(schema.required) ? schema.required.map(String) : []);
    const properties = new Map(Object.entries(propertiesOf(schema)));
    for (const name of required) if (!properties.has(name)) properties.set(name, { type: 'string' });
    for (const [name, property] of properties) {
      if (level >= MAX_LEVEL || valuesLeft <= 0) break;
      const filled = fill(property, name, level + 1);
      if (!filled.isFound && !required.has(name)) continue;
      // Not assigned: `__proto__` is an ordinary name here.
      Object.defineProperty(value, name, { value: filled.value, enumerable: true });
      isFound ||= filled.isFound;
    }
    return { value, isFound };
  }

  function fillArray(schema: Schema, name: string, level: number): Filled {
    const { min, max } = arrayBounds(schema);
    if (Array.isArray(schema.prefixItems)) {
      return { value: schema.prefixItems.map((item) => fill(item, name, level + 1).value), isFound: false };
    }
    const items = schemaAt(root, schema.items);
    const { type } = typeOf(items);
    const texts = Array.isArray(items.enum)
      ? found.mentioned(textsAmong(items.enum))
      : type === 'object' || type === 'array'
        ? []
        : (found.list(name) ?? []);
    const value: unknown[] = texts.slice(0, max).flatMap((text) => itemFrom(items, type, text));
    const isFound = value.length > 0;
    while (value.length < min && level < MAX_LEVEL && valuesLeft > 0) {
      value.push(fill(items, name, level + 1).value);
    }
    return { value, isFound };
  }

  return fill(root, '', 0).value;
}

interface Filled {
  readonly value: unknown;
  readonly isFound: boolean;
}

const MAX_LEVEL = 12;
const MAX_VALUES = 1_000;
const NULL_LEVEL = 4;

function fillFrom<T>(found: T | null, within: (value: T | null) => T): Filled {
  const value = within(found);
  return { value, isFound: found !== null && value === found };
}

function textsAmong(options: readonly unknown[]): string[] {
  return options.filter((option) => typeof option === 'string');
}

function itemFrom(items: Schema, type: string, text: string): unknown[] {
  if (type === 'string') return [textWithin(items, text)];
  const number = Number(text);
  if ((type !== 'number' && type !== 'integer') || Number.isNaN(number)) return [];
  return [numberWithin(items, number, type === 'integer')];
}

const DEFAULT_MAX_ITEMS = 100;
const LONGEST_TEXT = 4_000;

/** Fixed values for when nothing is known: the same schema always gets the same value. */
const OF_FORMAT: Readonly<Record<string, string>> = {
  'date-time': '1970-01-01T00:00:00Z',
  date: '1970-01-01',
  time: '00:00:00Z',
  duration: 'PT0S',
  email: 'unknown@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  url: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
};

/** The found text if it satisfies the schema, cut to its longest length; otherwise the simplest value that does. */
function textWithin(schema: Schema, found: string | null): string {
  const min = wholeOf(schema.minLength) ?? 0;
  const max = Math.min(wholeOf(schema.maxLength) ?? LONGEST_TEXT, LONGEST_TEXT);
  if (found !== null && found.length >= min && fitsFormat(schema, found)) {
    return found.slice(0, max).toWellFormed();
  }
  const plain = OF_FORMAT[String(schema.format)] ?? (min > 0 ? 'unknown' : '');
  return plain.padEnd(Math.min(min, LONGEST_TEXT), '.').slice(0, Math.max(max, min));
}

function fitsFormat(schema: Schema, text: string): boolean {
  switch (schema.format) {
    case 'email':
      return /^[^\s@]+@[^\s@]+\.[^\s@]+$/u.test(text);
    case 'date':
      return /^\d{4}-\d{2}-\d{2}$/u.test(text);
    case 'date-time':
      return /^\d{4}-\d{2}-\d{2}T[\d:.]+(?:Z|[+-]\d{2}:\d{2})$/u.test(text);
    case 'time':
      return /^\d{2}:\d{2}:\d{2}/u.test(text);
    case 'uri':
    case 'url':
      return URL.canParse(text);
    case 'uuid':
      return /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/iu.test(text);
    default:
      return true;
  }
}

function numberWithin(schema: Schema, found: number | null, isWhole: boolean): number {
  const step = numberOf(schema.multipleOf) ?? (isWhole ? 1 : 0);
  const nudge = step > 0 ? step : 1e-6;
  const low = Math.max(
    numberOf(schema.minimum) ?? -Infinity,
    (numberOf(schema.exclusiveMinimum) ?? -Infinity) + nudge,
  );
  const high = Math.min(
    numberOf(schema.maximum) ?? Infinity,
    (numberOf(schema.exclusiveMaximum) ?? Infinity) - nudge,
  );
  const isOnStep = (number: number) => step <= 0 || Number.isInteger(number / step);
  if (found !== null && found >= low && found <= high && isOnStep(found)) return found;
  const nearestZero = Math.max(low, Math.min(high, 0));
  const stepped = step > 0 ? Math.ceil(nearestZero / step) * step : nearestZero;
  return stepped > high ? nearestZero : stepped;
}

function arrayBounds(schema: Schema): { min: number; max: number } {
  const max = Math.min(wholeOf(schema.maxItems) ?? DEFAULT_MAX_ITEMS, DEFAULT_MAX_ITEMS);
  return { min: Math.min(wholeOf(schema.minItems) ?? 0, max), max };
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

function wholeOf(value: unknown): number | null {
  return Number.isInteger(value) && (value as number) >= 0 ? (value as number) : null;
}

/** A JSON schema as received: no part of it is guaranteed to have the right shape. */
interface Schema {
  readonly type?: unknown;
  readonly enum?: unknown;
  readonly const?: unknown;
  readonly default?: unknown;
  readonly anyOf?: unknown;
  readonly oneOf?: unknown;
  readonly properties?: unknown;
  readonly required?: unknown;
  readonly items?: unknown;
  readonly prefixItems?: unknown;
  readonly [keyword: string]: unknown;
}

const MAX_REFERENCES = 16;

/** The schema with references resolved and allOf merged. */
function schemaAt(root: unknown, given: unknown): Schema {
  let schema = asSchema(given);
  for (let hops = 0; typeof schema.$ref === 'string'; hops += 1) {
    if (hops >= MAX_REFERENCES) return {};
    schema = asSchema(pointedAt(root, schema.$ref));
  }
  return Array.isArray(schema.allOf) ? mergeAll(root, schema, schema.allOf) : schema;
}

function mergeAll(root: unknown, schema: Schema, parts: readonly unknown[]): Schema {
  const all = [schema, ...parts.slice(0, MAX_REFERENCES).map(asSchema)].map((part) =>
    typeof part.$ref === 'string' ? asSchema(pointedAt(root, part.$ref)) : part,
  );
  return {
    ...Object.assign({}, ...all),
    properties: Object.assign({}, ...all.map(propertiesOf)),
    required: all.flatMap(({ required }) => (Array.isArray(required) ? required : [])),
  };
}

function propertiesOf(schema: Schema): Readonly<Record<string, unknown>> {
  return asSchema(schema.properties);
}

/** The first type that is not null, inferred from other keywords if there is none. */
function typeOf(schema: Schema): { type: string; isNullable: boolean } {
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type]).filter(
    (type) => typeof type === 'string',
  );
  const isNullable = types.includes('null') || schema.nullable === true;
  const named = types.find((type) => type !== 'null') ?? types[0];
  if (named !== undefined) return { type: named, isNullable };
  if (schema.properties !== undefined || schema.required !== undefined) return { type: 'object', isNullable };
  if (schema.items !== undefined || schema.prefixItems !== undefined) return { type: 'array', isNullable };
  if (schema.minimum !== undefined || schema.maximum !== undefined) return { type: 'number', isNullable };
  return { type: 'string', isNullable };
}

/** Resolves `#/$defs/person` and `#`; any other reference yields an empty schema. */
function pointedAt(root: unknown, reference: string): unknown {
  if (!reference.startsWith('#')) return {};
  return reference
    .slice(1)
    .split('/')
    .filter((step) => step !== '')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((at, step) => {
      const part = at as Readonly<Record<string, unknown>> | null | undefined;
      return typeof part === 'object' && part !== null && Object.hasOwn(part, step) ? part[step] : {};
    }, root);
}

function asSchema(value: unknown): Schema {
  return isObject(value) ? value : {};
}
