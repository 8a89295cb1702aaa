import { describe, expect, test } from 'bun:test';
import { z } from 'zod';
import { findValues } from '../../../src/adapters/model-upstream/embedded/found-values.ts';
import { schemaValue } from '../../../src/adapters/model-upstream/embedded/schema-value.ts';
import { cpuMsOf } from '../../doubles/cpu-time.ts';

const nothing = findValues({ text: '', lastMessage: '' });
const object = (properties: Record<string, unknown>, more: Record<string, unknown> = {}) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...more,
});

test('G-1: properties are filled from the conversation by their names, within their bounds', () => {
  const lastMessage = 'Jane Doe\nEmail: jane@doe.org\nAge: 200\nSkills: SQL, Rust and Go\nI live in Berlin.';
  const schema = object({
    firstName: { type: 'string' },
    candidateEmail: { type: 'string', format: 'email' },
    age: { type: 'integer', maximum: 150 },
    skills: { type: 'array', items: { type: 'string' }, maxItems: 2 },
    home: object({ city: { type: 'string' } }),
    company_name: { type: ['string', 'null'] },
  });
  expect(schemaValue(schema, findValues({ text: lastMessage, lastMessage }))).toEqual({
    firstName: 'Jane',
    candidateEmail: 'jane@doe.org',
    age: 0,
    skills: ['SQL', 'Rust'],
    home: { city: 'Berlin' },
    company_name: null,
  });
});

describe('without a value in the text', () => {
  test.each<[string, Record<string, unknown>, unknown]>([
    ['default', { type: 'string', default: 'x' }, 'x'],
    ['anyOf, the first', { anyOf: [{ type: 'integer' }, { type: 'null' }] }, 0],
    ['exclusive bounds', { type: 'integer', exclusiveMinimum: 3, exclusiveMaximum: 5 }, 4],
    ['multipleOf', { type: 'integer', minimum: 7, multipleOf: 5 }, 10],
    ['format', { type: 'string', format: 'uuid' }, '00000000-0000-4000-8000-000000000000'],
  ])('the simplest valid value: %s', (_, schema, value) => {
    expect(schemaValue(schema, nothing)).toEqual(value);
  });

  test('G-1: references are followed, and the value passes the schema', () => {
    const schema = object(
      {
        owner: { $ref: '#/$defs/person' },
        tags: { type: 'array', items: { $ref: '#/$defs/tag' }, minItems: 1 },
      },
      { $defs: { person: object({ name: { type: 'string' } }), tag: { enum: ['x', 'y'] } } },
    );
    const value = schemaValue(schema, nothing);
    expect(value).toEqual({ owner: { name: '' }, tags: ['x'] });
    expect(z.fromJSONSchema(schema as z.core.JSONSchema.JSONSchema).safeParse(value).success).toBe(true);
  });
});

describe('bounds', () => {
  test('a recursive schema ends', () => {
    const list = object({ value: { type: 'string' }, next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } });
    expect(JSON.stringify(schemaValue(list, nothing))).toEndWith('"next":null}}}}');
    const forever = object({ a: { $ref: '#' }, b: { $ref: '#' }, c: { $ref: '#' } });
    expect(JSON.stringify(schemaValue(forever, nothing)).length).toBeLessThan(20_000);
    expect(schemaValue({ $ref: '#' }, nothing)).toBe('');
    expect(schemaValue({ anyOf: [{ $ref: '#' }] }, nothing)).toBeNull();
    expect(schemaValue({ type: 'array', minItems: 1e9, items: { type: 'null' } }, nothing)).toHaveLength(100);
  });

  test('an invalid schema, and names such as __proto__', () => {
    for (const schema of [null, true, 7, 'x', [], { type: 7, properties: 'x', required: 'y', enum: {} }]) {
      expect(() => schemaValue(schema, nothing)).not.toThrow();
    }
    const trap = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"const":1}},"required":["__proto__"]}',
    );
    expect(JSON.stringify(schemaValue(trap, nothing))).toBe('{"__proto__":1}');
    expect(schemaValue({ $ref: '#/constructor/name' }, nothing)).toBe('');
  });

  test('a thousand names and a text of ten million characters take milliseconds', async () => {
    const text = 'the quick brown fox 12 '.repeat(450_000);
    const names = Array.from({ length: 2_000 }, (_, at) => [
      `fox_${at}_email`,
      { type: at % 2 ? 'number' : 'string' },
    ]);
    const schema = object(Object.fromEntries(names));
    const cpuMs = await cpuMsOf(() => schemaValue(schema, findValues({ text, lastMessage: text })));
    expect(cpuMs).toBeLessThan(3_000);
  });
});
