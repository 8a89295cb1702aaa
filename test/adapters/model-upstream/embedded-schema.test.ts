import { describe, expect, test } from 'bun:test';
import { z } from 'zod';
import { findValues } from '../../../src/adapters/model-upstream/embedded/found-values.ts';
import { schemaValue } from '../../../src/adapters/model-upstream/embedded/schema-value.ts';
import { cpuMsOf } from '../../doubles/cpu-time.ts';

const nothing = findValues({ text: '', lastMessage: '' });
const cv = `Jane Doe
Senior Engineer

Email: jane@doe.org
Phone: +49 170 1234567
Website: https://doe.org/jane
Remote: yes

I live in Berlin and have 7 years of experience with TypeScript.

Skills: TypeScript, SQL and Rust

## Languages
- German
- English
`;
const found = findValues({ text: cv, lastMessage: 'Parse this' });
const object = (properties: Record<string, unknown>, more: Record<string, unknown> = {}) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...more,
});

describe('values from the conversation', () => {
  test('G-1: fills properties by their names', () => {
    const schema = object({
      name: { type: 'string' },
      firstName: { type: 'string' },
      last_name: { type: 'string' },
      candidateEmail: { type: 'string', format: 'email' },
      phone: { type: ['string', 'null'] },
      website: { type: 'string', format: 'uri' },
      yearsOfExperience: { type: 'integer', minimum: 0 },
      skills: { type: 'array', items: { type: 'string' } },
      languages: { type: 'array', items: { type: 'string' }, maxItems: 1 },
      level: { type: 'string', enum: ['junior', 'senior'] },
      home: object({ city: { type: 'string' } }),
      remote: { type: 'boolean' },
      company_name: { type: ['string', 'null'] },
    });
    const value = schemaValue(schema, found);
    expect(value).toEqual({
      name: 'Jane Doe',
      firstName: 'Jane',
      last_name: 'Doe',
      candidateEmail: 'jane@doe.org',
      phone: '+49 170 1234567',
      website: 'https://doe.org/jane',
      yearsOfExperience: 7,
      skills: ['TypeScript', 'SQL', 'Rust'],
      languages: ['German'],
      level: 'senior',
      home: { city: 'Berlin' },
      remote: true,
      company_name: null,
    });
  });

  test('leaves out what is optional and not found, keeps what is', () => {
    const properties = { email: { type: 'string' }, salary: { type: 'number' }, nick: { type: 'string' } };
    expect(schemaValue({ type: 'object', properties }, found)).toEqual({ email: 'jane@doe.org' });
  });

  test('is read from JSON in the text too, with its numbers', () => {
    const text = 'The order is {"orderId": "A-7", "quantity": 3, "price": 1299.5, "gift": false}';
    const schema = object({
      order_id: { type: 'string' },
      quantity: { type: 'integer' },
      price: { type: 'number' },
      gift: { type: 'boolean' },
    });
    const value = schemaValue(schema, findValues({ text, lastMessage: text }));
    expect(value).toEqual({ order_id: 'A-7', quantity: 3, price: 1299.5, gift: false });
  });

  test('the name of another thing is not used as the name', () => {
    const text = 'Name: Jane Doe\nEmail: jane@doe.org';
    const schema = object({ companyName: { type: ['string', 'null'] }, work_email: { type: 'string' } });
    const value = schemaValue(schema, findValues({ text, lastMessage: text }));
    expect(value).toEqual({ companyName: null, work_email: 'jane@doe.org' });
  });

  test('a question fills a property for one, and numbers go to the words next to them', () => {
    const lastMessage = 'Find people with Rust, limit 5';
    const schema = object({ query: { type: 'string' }, limit: { type: 'integer', maximum: 50 } });
    const value = schemaValue(schema, findValues({ text: lastMessage, lastMessage }));
    expect(value).toEqual({ query: lastMessage, limit: 5 });
  });

  test('values outside the bounds are not used', () => {
    const text = 'Age: 200\nEmail: none\nCode: abcdef';
    const schema = object({
      age: { type: 'integer', maximum: 150 },
      email: { type: 'string', format: 'email' },
      code: { type: 'string', maxLength: 3 },
    });
    const value = schemaValue(schema, findValues({ text, lastMessage: text }));
    expect(value).toEqual({ age: 0, email: 'unknown@example.com', code: 'abc' });
  });
});

describe('without a value in the text', () => {
  test.each<[string, Record<string, unknown>, unknown]>([
    ['const', { const: 7 }, 7],
    ['enum', { enum: [null, 'a'] }, null],
    ['default', { type: 'string', default: 'x' }, 'x'],
    ['anyOf, the first', { anyOf: [{ type: 'integer' }, { type: 'null' }] }, 0],
    ['oneOf', { oneOf: [{ const: 'a' }, { const: 'b' }] }, 'a'],
    [
      'allOf',
      { allOf: [{ type: 'object', required: ['a'] }, { properties: { a: { const: 1 } } }] },
      { a: 1 },
    ],
    ['nullable', { type: ['string', 'null'] }, null],
    ['minimum', { type: 'integer', minimum: 3 }, 3],
    ['exclusive bounds', { type: 'integer', exclusiveMinimum: 3, exclusiveMaximum: 5 }, 4],
    ['maximum below zero', { type: 'number', maximum: -2.5 }, -2.5],
    ['multipleOf', { type: 'integer', minimum: 7, multipleOf: 5 }, 10],
    ['minLength', { type: 'string', minLength: 9 }, 'unknown..'],
    ['format', { type: 'string', format: 'uuid' }, '00000000-0000-4000-8000-000000000000'],
    ['minItems', { type: 'array', items: { type: 'boolean' }, minItems: 2 }, [false, false]],
    ['prefixItems', { type: 'array', prefixItems: [{ const: 1 }, { type: 'string' }] }, [1, '']],
    ['no type', { properties: { a: {} }, required: ['a', 'b'] }, { a: '', b: '' }],
    ['nothing at all', {}, ''],
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
