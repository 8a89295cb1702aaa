/**
 * How long a test waits for a fact, in one place: far above what a busy machine takes, because its end is never the
 * expected one. `TEST_PATIENCE` sets it in milliseconds.
 */
export const PATIENCE_MS = Number(process.env.TEST_PATIENCE || 180_000);
/** A test has what one wait has and a minute, so that the wait says first what did not happen. */
export const TEST_MS = PATIENCE_MS + 60_000;
/** While tests run something is written at least this often. */
export const SILENCE_MS = TEST_MS + 30_000;
