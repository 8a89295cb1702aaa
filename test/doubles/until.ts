import { PATIENCE_MS } from './patience.ts';

const pending = new Set<string>();

/** Waits for what happens elsewhere, by asking; never for a time to pass. A look that fails counts as not yet. */
export async function until(holds: () => boolean | Promise<boolean>, withinMs = PATIENCE_MS): Promise<void> {
  const deadline = performance.now() + withinMs;
  const wait = String(holds);
  pending.add(wait);
  try {
    while (!(await Promise.resolve(holds()).catch(() => false))) {
      if (performance.now() > deadline) throw new Error(`not within ${withinMs} ms: ${wait}`);
      await Bun.sleep(10);
    }
  } finally {
    pending.delete(wait);
  }
}

/** What is being waited for now. */
export function pendingWaits(): string[] {
  return [...pending].map((wait) => `waits until ${wait}`);
}
