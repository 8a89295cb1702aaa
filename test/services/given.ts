import { chromiumProgram } from './find-or-install.ts';

/**
 * The servers that tests may use. `npm test` starts private ones and sets both variables; a bare `bun test`
 * has what the caller set. Null means: skip, with `describe.skipIf(givenDatabase() === null)`.
 */
export function givenDatabase(): string | null {
  return given('TEST_DATABASE_URL', 'PostgreSQL');
}

export function givenRedis(): string | null {
  return given('TEST_REDIS_URL', 'Redis');
}

/** The browser's program: the caller's, or this machine's. */
export function givenChromium(): string | null {
  return process.env.TEST_CHROMIUM || (chromiumProgram.find() ?? given('TEST_CHROMIUM', 'Chromium'));
}

/** In CI a skipped test would look like a passed one, so a missing server is an error there. */
function given(variable: string, server: string): string | null {
  const url = process.env[variable];
  if (url) return url;
  const ci = process.env.CI;
  if (!ci || ci === 'false' || ci === '0') return null;
  throw new Error(
    `these tests need ${server}: run them with npm test, which starts one, or set ${variable} to a server`,
  );
}
