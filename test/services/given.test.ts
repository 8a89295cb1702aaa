import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { givenDatabase, givenRedis } from './given.ts';

describe('a server that is not given', () => {
  const names = ['TEST_DATABASE_URL', 'TEST_REDIS_URL', 'CI'];
  const before = new Map(names.map((name) => [name, process.env[name]]));
  beforeEach(() => {
    for (const name of names) delete process.env[name];
  });
  afterEach(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });

  test('is null, so that tests are skipped', () => {
    expect(givenDatabase()).toBeNull();
    expect(givenRedis()).toBeNull();
  });

  test('is an error in CI that says what to do', () => {
    process.env.CI = 'true';
    expect(givenDatabase).toThrow('set TEST_DATABASE_URL');
    expect(givenRedis).toThrow('set TEST_REDIS_URL');
  });
});
