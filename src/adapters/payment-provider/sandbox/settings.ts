import type { Statements } from '../../../ports/database.ts';

/** The sandbox's few settings that outlive it: how far its clock was moved, and its switches. */
export async function readSetting<T>(statements: Statements, name: string): Promise<T | null> {
  const text = 'select value from payment_sandbox_settings where name = $1';
  const rows = await statements.query<{ value: T }>(text, [name]);
  return rows[0]?.value ?? null;
}

export async function writeSetting(
  statements: Statements,
  name: string,
  value: Readonly<Record<string, unknown>>,
): Promise<void> {
  await statements.query(
    `insert into payment_sandbox_settings (name, value) values ($1, $2)
     on conflict (name) do update set value = excluded.value`,
    [name, value],
  );
}

/** Seconds that the sandbox's clock is ahead of the real one. */
export async function readAhead(statements: Statements): Promise<number> {
  return (await readSetting<{ seconds: number }>(statements, 'clock'))?.seconds ?? 0;
}

export async function writeAhead(statements: Statements, seconds: number): Promise<void> {
  await writeSetting(statements, 'clock', { seconds });
}
