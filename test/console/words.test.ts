import { describe, expect, test } from 'bun:test';
import {
  balanceWarning,
  daysOf,
  dearestByDay,
  dearestFirst,
  requestsHref,
} from '../../console/pages/usage/usage-data.ts';
import { csvCell } from '../../console/parts/files.ts';
import { changedFrom } from '../../console/parts/form-values.ts';
import {
  credits,
  duration,
  exact,
  fieldLabel,
  fieldWords,
  isUuid,
  latency,
  partsByIds,
  readable,
  relative,
  roundedCredits,
  spoken,
  utcDay,
} from '../../console/parts/format.ts';
import { plainError } from '../../console/session/answer-error.ts';

const ID = '019a0000-0000-7000-8000-00000000dead';
const AT = '2030-01-02T03:04:05.678Z';

describe('words of the console', () => {
  test('a log message has credits, local times and short ids instead of raw values', () => {
    const said = readable(`Posted 1500000 micro-credits to ${ID} at ${AT}, -250 micro-credits left.`);
    expect(said).toBe(`Posted 1.50 credits to …00dead at ${exact(AT)}, -0.00025 credits left.`);
    expect(said).not.toMatch(/micro|T\d\d:|-8000-/);
    expect(readable('Nothing of this kind: 2030-01-02, 15 credits')).toBe(
      'Nothing of this kind: 2030-01-02, 15 credits',
    );
  });

  test('a time is never rounded to a whole larger unit: 59.7 minutes are 1 hour, not 60 minutes', () => {
    const now = Date.parse(AT);
    const ago = (seconds: number) => relative(new Date(now - seconds * 1_000).toISOString(), now);
    const [MINUTE, HOUR, DAY] = [60, 3_600, 86_400];
    expect([ago(59.7), ago(59.7 * MINUTE), ago(23.8 * HOUR), ago(29.8 * DAY), ago(360 * DAY)]).toEqual([
      ...['1 minute ago', '1 hour ago', '1 day ago', '1 month ago', '1 year ago'],
    ]);
    expect([ago(59), ago(59.4 * MINUTE), ago(-30 * HOUR), ago(400 * DAY)]).toEqual([
      ...['just now', '59 minutes ago', 'in 1 day', '1 year ago'],
    ]);
  });

  test('the month of a budget ends on a day of UTC, wherever the browser is', () => {
    expect(utcDay('2026-12-01T00:00:00.000Z')).toBe('Dec 1, 2026');
  });

  test('recorded fields have a readable label and value', () => {
    const field = (name: string, value: unknown) => [fieldLabel(name), fieldWords(name, value)];
    expect(field('excessMicro', '2500000')).toEqual(['Excess', '2.50 credits']);
    expect(field('expiresAt', AT)).toEqual(['Expires at', exact(AT)]);
    expect(field('logPayloads', false)).toEqual(['Log payloads', 'no']);
    expect(field('limit', null)).toEqual(['Limit', 'none']);
    expect(field('scopes', ['a', 'b'])).toEqual(['Scopes', 'a, b']);
    expect(field('after', { maxCalls: 3, chargeMicro: 1 })).toEqual([
      'After',
      'Max calls: 3; Charge: 0.000001 credits',
    ]);
    expect(fieldLabel('talentId')).toBe('Talent');
    expect([isUuid(ID), isUuid(`${ID}0`), isUuid('mail')]).toEqual([true, false, false]);
    expect(partsByIds(`pack ${ID} of ${ID}`)).toEqual(['pack ', ID, ' of ', ID, '']);
  });

  test('amounts are rounded in overviews, and exact below one', () => {
    expect(roundedCredits(1_234.567891)).toBe('1,234.57');
    expect(roundedCredits(0.000012)).toBe('0.000012');
    expect(credits(2.5)).toBe('2.50');
    expect([duration(185), latency(850), latency(2_400)]).toEqual(['3 min 5 s', '850 ms', '2.4 s']);
    expect([spoken('api_key'), spoken('cvUploaded')]).toEqual(['API key', 'CV uploaded']);
    expect([spoken('SUBSCRIPTION_GRANT'), spoken('creditLimit')]).toEqual([
      'Subscription grant',
      'Credit limit',
    ]);
  });

  test('no cell of a CSV file is a formula, and commas and quotes stay within their cell', () => {
    expect(['=1+1', ' =1+1', '-2', '@a', '|a', '%a'].map(csvCell)).toEqual([
      ...["'=1+1", "' =1+1", "'-2", "'@a", "'|a", "'%a"],
    ]);
    expect([csvCell(-2), csvCell(null), csvCell('a-b'), csvCell('a,"b"')]).toEqual([
      ...['-2', '', 'a-b', '"a,""b"""'],
    ]);
  });

  test('a chart by name has the dearest names, each with all days', () => {
    const spend = (name: string, day: string | null, of: number) => ({ name, day, totals: { credits: of } });
    const sums = [spend('a', null, 1), spend('b', null, 9), spend('c', null, 5)];
    const lines = [spend('b', '2030-01-01', 9), spend('c', '2030-01-02', 2), spend('c', '2030-01-02', 3)];
    const days = ['2030-01-01', '2030-01-02'];
    expect(dearestByDay(sums, lines, days, 2)).toEqual([
      { name: 'b', values: [9, 0] },
      { name: 'c', values: [0, 5] },
    ]);
  });

  test('errors of GraphQL itself are in plain words: another version of the page, a number that is too large', () => {
    const error = (message: string, code: string) => plainError(message, code, 'req_1', null);
    expect(error('Cannot query field "a" on type "B".', 'GRAPHQL_VALIDATION_FAILED').message).toContain(
      'reload the page',
    );
    expect(error('A name is needed.', 'BAD_USER_INPUT').message).toBe('A name is needed.');
    const tooLarge =
      'Variable "$input" got invalid value 99999999999 at "input.plannedMinutes"; Int cannot represent non 32-bit signed integer value: 99999999999';
    expect(error(tooLarge, 'BAD_USER_INPUT')).toMatchObject({
      ...{ message: 'Enter a whole number up to 2,147,483,647.', field: 'input.plannedMinutes' },
    });
  });

  test('usage is of today, of yesterday, or of the days until today', () => {
    const now = Date.UTC(2026, 2, 1, 0, 30);
    expect(daysOf('today', now)).toEqual({ from: '2026-03-01', to: '2026-03-01' });
    expect(daysOf('yesterday', now)).toEqual({ from: '2026-02-28', to: '2026-02-28' });
    expect(daysOf('7', now)).toEqual({ from: '2026-02-23', to: '2026-03-01' });
  });

  test('what cost the most is first, and days stay in their order', () => {
    const totals = { calls: 1, failures: 0, promptTokens: 0, cachedTokens: 0, cacheWriteTokens: 0 };
    const row = (keyId: string | null, day: string | null, spent: number) => ({
      ...{ keyId, day },
      totals: { ...totals, completionTokens: 0, toolCredits: 0, credits: spent },
    });
    const keys = dearestFirst([row('a', null, 1), row('b', null, 3), row('c', null, 2)]);
    expect(keys.map(({ keyId }) => keyId)).toEqual(['b', 'c', 'a']);
    const days = dearestFirst([row(null, '2026-03-01', 1), row(null, '2026-03-02', 3)]);
    expect(days.map(({ day }) => day)).toEqual(['2026-03-01', '2026-03-02']);
  });

  test('the requests behind a count of failures are those of its days, in the time zone of the browser', () => {
    const days = { from: '2026-03-01', to: '2026-03-07', status: 403 };
    const searched = (href: string) =>
      Object.fromEntries(new URL(href, 'http://console.example').searchParams);
    const found = searched(requestsHref({ ...days, code: 'BUDGET_EXCEEDED', keyId: 'k', alias: null }));
    expect(found).toMatchObject({ time: 'own', code: 'BUDGET_EXCEEDED', key: 'k' });
    expect([found.from, found.to].map((text) => new Date(text ?? '').toISOString())).toEqual([
      '2026-03-01T00:00:00.000Z',
      '2026-03-08T00:00:00.000Z',
    ]);
    expect(found).not.toHaveProperty('status');
  });

  test('a form sends only changed fields', () => {
    const before = { name: 'a', limit: 5, project: null as string | null };
    expect(changedFrom(before, { ...before })).toEqual({});
    expect(changedFrom(before, { ...before, limit: 6 })).toEqual({ limit: 6 });
    expect(changedFrom({ ...before, project: 'x' }, before)).toEqual({ project: null });
  });

  test('credits are low when the last week cost more than is left, and not those of a new company', () => {
    const now = Date.parse('2030-01-20T12:00:00Z');
    const on = (day: string, credits: number) => ({ day, totals: { credits } });
    const rows = [on('2030-01-13', 900), on('2030-01-14', 6), on('2030-01-20', 5)];
    expect(balanceWarning(10.9, rows, now)).toContain('running low');
    expect(balanceWarning(11, rows, now)).toBeNull();
    expect(balanceWarning(25, [], now)).toBeNull();
    expect(balanceWarning(0, [], now)).toContain('refused');
  });
});
