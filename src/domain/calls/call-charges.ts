import type { Statements } from '../../ports/database.ts';

/** The charges of these calls, by id; a call that is not in the database yet has no entry. */
export async function readCharges(
  statements: Statements,
  ids: readonly string[],
): Promise<ReadonlyMap<string, bigint>> {
  const rows = await statements.query<{ id: string; chargeMicro: bigint }>(
    'select id, charge_micro as "chargeMicro" from calls where id = any($1::uuid[])',
    [ids],
  );
  return new Map(rows.map(({ id, chargeMicro }) => [id, chargeMicro]));
}
