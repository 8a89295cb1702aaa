import { listBudgetsWithSpending } from '../../src/domain/credits/budgets/budgets.ts';
import { readKeyMonth } from '../../src/domain/credits/holds/holds.ts';
import { auditBooks } from '../../src/domain/reconciliation/audit.ts';
import type { Database } from '../../src/ports/database.ts';
import type { BudgetWorld } from './budget-world.ts';
import { COMPANY, type MoneyModel, monthOf } from './model.ts';

/** What the database and shared state have, against the model: a line for each difference. */
export async function differencesIn(
  world: BudgetWorld,
  model: MoneyModel,
  isHoldKnown: boolean,
): Promise<readonly string[]> {
  const { database, companyId } = world;
  const differences: string[] = [];
  const compare = (what: string, found: bigint | number | null, expected: number) => {
    if (found === null || Number(found) !== expected) {
      differences.push(`${what} is ${found}, and ${expected} in the model`);
    }
  };
  for (const [account, expected] of model.balances) {
    const id = account === COMPANY ? companyId : account;
    const [row] = await database.query<{ balance: bigint }>(
      'select balance_micro as balance from credit_accounts where id = $1',
      [id],
    );
    compare(`the balance of ${account}`, row?.balance ?? 0n, expected);
    const held = await world.heldCredits(companyId, account === COMPANY ? null : account);
    if (isHoldKnown) compare(`what calls of ${account} hold`, held, model.held(account));
  }
  const now = new Date(world.nowMs());
  const month = monthOf(world.nowMs());
  const budgets = await listBudgetsWithSpending(database, companyId, now);
  compare('the number of budgets', budgets.length, model.budgets.size);
  for (const { scope, subject, spentMicro, topEndUser, usedUpBy, monthlyMicro } of budgets) {
    if (scope !== 'END_USER' || subject !== '*') {
      compare(`the spending of ${scope} ${subject}`, spentMicro, model.spentOf(scope, subject, month));
      continue;
    }
    const others = othersThan(model, month);
    compare('the most of an end user', spentMicro, Math.max(0, ...others.map(([, spent]) => spent)));
    const usedUp = others.filter(([, spent]) => spent >= Number(monthlyMicro));
    compare('end users who have used up their budget', usedUpBy ?? 0, usedUp.length);
    if ((topEndUser === null) !== (others.length === 0)) differences.push('the end user who spent most');
  }
  for (const key of model.keys) {
    const spent = await readKeyMonth(database, key.id, `${month}-01`);
    compare(`the month of key ${key.id}`, spent, model.spentOf('KEY', key.root, month));
  }
  return differences;
}

/** End users who have spent something and have no budget of their own. */
function othersThan(model: MoneyModel, month: string): readonly (readonly [string, number])[] {
  const prefix = `END_USER ${month} `;
  return [...model.spent].flatMap(([name, spent]) => {
    if (!name.startsWith(prefix) || spent === 0) return [];
    const endUser = name.slice(prefix.length);
    return endUser !== '*' && model.budgets.has(`END_USER ${endUser}`) ? [] : [[endUser, spent] as const];
  });
}

/** What `turnpike audit` finds. */
export async function faultsIn(database: Database): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { faults } of auditBooks(database))
    found.push(...faults.map((fault) => `audit: ${fault}`));
  return found;
}
