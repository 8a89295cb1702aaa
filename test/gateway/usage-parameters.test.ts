import { describe, expect, test } from 'bun:test';
import { readUsageParameters } from '../../src/gateway/reads/usage.ts';

const NOW_MS = Date.parse('2030-03-31T10:00:00Z');

function read(query: string) {
  return readUsageParameters(new URLSearchParams(query), NOW_MS);
}

function range(query: string): string {
  const result = read(query);
  return result.outcome === 'read'
    ? `${result.parameters.from} ${result.parameters.to}`
    : `${result.param}: ${result.message}`;
}

describe('G-5 the parameters of GET /usage', () => {
  test.each([
    ['', '2030-03-02 2030-03-31'],
    ['from=2030-03-30', '2030-03-30 2030-03-31'],
    ['to=2030-01-30', '2030-01-01 2030-01-30'],
    ['from=2030-01-01&to=2030-01-31', '2030-01-01 2030-01-31'],
    ['from=2030-01-01&to=2030-01-01', '2030-01-01 2030-01-01'],
    // Moments: midnight ends the day before it.
    ['from=2030-01-01T00:00:00Z&to=2030-02-01T00:00:00Z', '2030-01-01 2030-01-31'],
    ['from=2030-01-01T22:30:00Z&to=2030-02-01T00:00:00.001Z', '2030-01-01 2030-02-01'],
    ['from=2030-01-01T00:30:00%2B01:00&to=2030-01-05', '2029-12-31 2030-01-05'],
    // A forgotten escape makes the + a space.
    ['from=2030-01-01T00:30:00+01:00&to=2030-01-05', '2029-12-31 2030-01-05'],
    ['from=2028-02-29&to=2028-02-29', '2028-02-29 2028-02-29'],
    ['from=2029-02-25&to=2030-03-31', '2029-02-25 2030-03-31'],
  ])('%p is %p', (query, wanted) => {
    expect(range(query)).toBe(wanted);
  });

  test.each([
    ['from=yesterday', 'from'],
    ['from=', 'from'],
    ['from=2030-02-30', 'from'],
    ['from=2030-13-01', 'from'],
    ['from=1999-12-31&to=2000-01-01', 'from'],
    ['from=2030-01-01T10:00:00', 'from'],
    ['from=2030-01-01T25:00:00Z', 'from'],
    ['from=1760000000', 'from'],
    ['from=2030-01-01&from=2030-01-02', 'from'],
    ['from=2030-04-02', 'from'],
    ['to=9999-99-99', 'to'],
    ['to=2030-01-01&from=2030-01-02', 'to'],
    ['from=2030-01-01T00:00:00Z&to=2030-01-01T00:00:00Z', 'to'],
    [`to=${'2'.repeat(10_000)}`, 'to'],
    ['from=2029-02-24&to=2030-03-31', 'from'],
    ['group_by=month', 'group_by'],
    ['group_by=', 'group_by'],
    ['group_by=model,,day', 'group_by'],
    [`group_by=${'model,'.repeat(5_000)}`, 'group_by'],
    ['group_by=__proto__', 'group_by'],
  ])('%p is refused by the name of %p', (query, param) => {
    const result = read(query);
    expect(result).toMatchObject({ outcome: 'invalid', param });
    if (result.outcome === 'invalid') expect(result.message.length).toBeLessThan(150);
  });

  test.each([
    ['group_by=model', ['model']],
    ['group_by=day,model', ['model', 'day']],
    ['group_by=key&group_by=day', ['day', 'key']],
    ['group_by=model,%20model', ['model']],
  ])('%p asks for the combinations of %p', (query, wanted) => {
    const result = read(query);
    if (result.outcome !== 'read') throw new Error(result.message);
    expect(result.parameters.groupBy as string[]).toEqual(wanted);
  });
});
