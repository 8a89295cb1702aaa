export interface Scope {
  /** What is opened later is ended earlier. Once the scope has ended, `end` runs at once. */
  whenEnding(end: () => unknown): void;
  /** Ends everything, whatever fails on the way, and says what failed. */
  end(): Promise<readonly string[]>;
}

const END_WITHIN_MS = 20_000;

/** Everything that must not outlive a measurement, or the run. */
export function createScope(): Scope {
  const ends: (() => unknown)[] = [];
  const failures: string[] = [];
  let hasEnded = false;

  async function endOne(end: () => unknown): Promise<void> {
    const tooLate = Promise.withResolvers<never>();
    const timer = setTimeout(() => tooLate.reject(new Error('it took too long')), END_WITHIN_MS);
    try {
      await Promise.race([end(), tooLate.promise]);
    } catch (error) {
      failures.push(`something could not be ended: ${error instanceof Error ? error.message : error}`);
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    whenEnding(end) {
      if (hasEnded) void endOne(end);
      else ends.push(end);
    },
    async end() {
      hasEnded = true;
      for (let last = ends.pop(); last !== undefined; last = ends.pop()) await endOne(last);
      return failures;
    },
  };
}
