import { describe, expect, test } from 'bun:test';
import { type Alias, type AliasKind, DEFAULT_BOUNDS } from '../../src/domain/models/aliases.ts';
import { fallbackAliases } from '../../src/gateway/admission/fallback-aliases.ts';
import { readModelBody } from '../../src/gateway/json/request-body.ts';

const aliasOf = (alias: string, kind: AliasKind = 'chat', fallback: string | null = null): Alias => ({
  ...{ alias, kind, targets: [], prices: [], ...DEFAULT_BOUNDS[kind] },
  routing: { strategy: 'weight', retries: 0, retryStatuses: [], fallback, hedgeMs: null },
});
const ALL = [
  aliasOf('cheap', 'chat', 'reserve'),
  aliasOf('reserve'),
  aliasOf('dear', 'chat', 'dearest'),
  aliasOf('dearest'),
  aliasOf('vectors', 'embed'),
];
const models = { find: (name: string) => ALL.find(({ alias }) => alias === name) ?? null };
const ALLOWED = new Set(['cheap', 'dear']);

/** What a call with this body may be answered by, besides its model; or the status of its refusal. */
function answeredBy(body: string): readonly string[] | number {
  const read = readModelBody(new TextEncoder().encode(body));
  if (read.outcome !== 'read') return 400;
  const first = models.find(read.fields.model);
  if (first === null || !ALLOWED.has(first.alias)) return 403;
  const found = fallbackAliases(
    { models },
    { key: { companyId: 'c' }, alias: first, fields: read.fields, allowed: ALLOWED },
  );
  if ('refusal' in found) return found.refusal.name === 'modelNotAllowed' ? 403 : 400;
  return found.map(({ alias }) => alias);
}

describe('a list of models in the body reaches no model that the key may not call', () => {
  test.each([
    ['{"model":"cheap","models":["dearest"]}', 403],
    ['{"model":"cheap","models":["dear","dearest"]}', 403],
    ['{"models":["dearest","cheap"]}', 403],
    ['{"model":"cheap","models":["gone"]}', 403],
    ['{"model":"cheap","models":["dear\\u0065st"]}', 403],
    ['{"model":"cheap","models":["vectors"]}', 403],
    // Two lists, of which a provider may read the other.
    ['{"model":"cheap","models":["dear"],"models":["dearest"]}', 400],
    ['{"model":"cheap","models":["dear"],"mod\\u0065ls":["dearest"]}', 400],
    ['{"model":"cheap","MODELS":["dearest"]}', 400],
    // Bounded.
    [`{"model":"cheap","models":[${'"dear",'.repeat(8)}"dear"]}`, 400],
    ['{"model":"cheap","models":[["dearest"]]}', 400],
    // It takes the place of what the operator has set, and does not lead on to another's fallback.
    ['{"model":"cheap","models":["dear"]}', ['dear']],
    ['{"model":"cheap","models":[]}', []],
    // What the operator has set leads no further than the key's list either.
    ['{"model":"cheap"}', []],
  ])('%s', (body, expected) => {
    expect(answeredBy(body)).toEqual(expected);
  });
});
