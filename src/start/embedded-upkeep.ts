import type { Opening } from './start-service.ts';

const EVERY_MS = 30 * 60_000;

/**
 * PostgreSQL's autovacuum is a process of its own, which the embedded engine does not have: without this, rows
 * that were changed or deleted would stay on the disk for good.
 */
export function keepEmbeddedDatabaseTidy(
  opening: Pick<Opening, 'database' | 'clock' | 'log' | 'whenClosing'>,
): void {
  const { database, clock, log, whenClosing } = opening;
  let timer = clock.after(EVERY_MS, tidy);
  whenClosing('upkeep', () => timer.cancel());

  function tidy(): void {
    database
      .script('vacuum (analyze)')
      .catch((error: unknown) => log.warn('the embedded database could not be tidied', { error }))
      .finally(() => {
        timer = clock.after(EVERY_MS, tidy);
      });
  }
}
