/** Waits for what happens elsewhere, by asking; never for a time to pass. A look that fails counts as not yet. Its limit only ends a wait for what never comes. */
export async function until(holds: () => boolean | Promise<boolean>, withinMs = 110_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await Promise.resolve(holds()).catch(() => false))) {
    if (performance.now() > deadline) throw new Error(`not within ${withinMs} ms: ${holds}`);
    await Bun.sleep(10);
  }
}
