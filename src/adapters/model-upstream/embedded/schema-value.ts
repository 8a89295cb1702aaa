import type { FoundValues } from './found-values.ts';
import { arrayBounds, numberWithin, textWithin } from './schema-bounds.ts';
import { propertiesOf, type Schema, schemaAt, typeOf } from './schema-parts.ts';

/**
 * A value that follows a JSON schema: what the conversation says under a property's name, or else the plainest
 * value that fits. It knows types, enum, const, default, properties, required, items, prefixItems, bounds,
 * formats, anyOf, oneOf, allOf and $ref; not `pattern`, which is the client's and might run for hours.
 *
 * Bounded: 12 levels and 1,000 values; past them objects stay empty and lists as short as they may be.
 */
export function schemaValue(root: unknown, found: FoundValues): unknown {
  let valuesLeft = MAX_VALUES;

  /** `isFound` tells what the conversation says from what only fills a gap: an optional gap is left out. */
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

  /** The first, but deep inside nothing where nothing is allowed: that ends schemas that hold themselves. */
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
      // Not by assignment: `__proto__` is a name like others.
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
