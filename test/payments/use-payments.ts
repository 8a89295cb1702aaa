import { expect } from 'bun:test';
import {
  type AuditCheck,
  type ComputedCheck,
  runCheck,
} from '../../src/domain/reconciliation/audit-check.ts';
import { MONEY_CHECKS } from '../../src/domain/reconciliation/money-checks.ts';
import type { Database } from '../../src/ports/database.ts';
import { useDatabase } from '../setup/use-database.ts';
import { useResource } from '../setup/use-resource.ts';
import { openPayments } from './payments-under-test.ts';
import { openShop, type Shop } from './shop-under-test.ts';

/** Events on a database of this file's own. */
export function usePayments() {
  const database = useDatabase();
  const payments = useResource(() => ({ ...openPayments(database), close: () => {} }));
  return { database, payments };
}

type UseDatabase = (options: { readonly beforeClose: () => unknown }) => Database;

/** The shop on a database of this file's own. */
export function useShop(use: UseDatabase = useDatabase) {
  let opened: Shop | undefined;
  const database = use({ beforeClose: () => opened?.sandbox.close() });
  const shop = useResource(async () => {
    opened = await openShop(database);
    return { ...opened, close: () => {} };
  });
  return { database, shop };
}

type Check = AuditCheck | ComputedCheck;

/** The checks find nothing in the books. */
export async function expectSound(
  database: Database,
  checks: readonly Check[] = MONEY_CHECKS,
): Promise<void> {
  for (const check of checks) expect(await runCheck(database, check)).toEqual({ faults: [], isCut: false });
}
