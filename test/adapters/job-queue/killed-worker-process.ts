import { join } from 'node:path';

const program = join(import.meta.dir, '../../doubles/killed-worker.ts');

/** Starts a worker in a process of its own, waits until its handler runs, and kills it with -9. */
export async function killWorkerInTheMiddle(
  engine: 'postgres' | 'pglite',
  place: string,
  queue: string,
): Promise<void> {
  const child = Bun.spawn([process.execPath, program, engine, place, queue], {
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  if (new TextDecoder().decode(value) !== 'begun\n') throw new Error('the worker took no job');
  child.kill('SIGKILL');
  await child.exited;
}
