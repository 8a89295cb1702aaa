import { findCompany } from '../../domain/accounts/company.ts';
import { appendAuditEntry } from '../../domain/audit/audit-log.ts';
import {
  type BudgetWithSpending,
  budgetOwner,
  deleteBudget,
  listBudgetsWithSpending,
  setBudget,
} from '../../domain/credits/budgets/budgets.ts';
import { BUDGET_SCOPES, type BudgetScope } from '../../domain/credits/budgets/call-budgets.ts';
import {
  announceCompany,
  creditsOfMicro,
  microOfCredits,
} from '../../domain/credits/ledger/credit-account.ts';
import { isId, spendingKeyId } from '../../domain/keys/api-key.ts';
import { findKey } from '../../domain/keys/key-lifecycle.ts';
import type { Transaction } from '../../ports/database.ts';
import {
  type Command,
  complainOfCredits,
  complainOfNoCompany,
  complainOfUsage,
  EXIT_FAILED,
  EXIT_OK,
  printJson,
  takeJson,
} from '../command.ts';

export const budgetsCommand: Command = {
  name: 'budgets',
  usage: 'COMPANY_ID [--json]',
  summary: 'The monthly budgets of a company and what was spent in this month.',
  works: 'on-the-database',
  async run({ terminal, database, clock }, given) {
    const { isJson, words } = takeJson(given);
    const [companyId, ...rest] = words;
    if (companyId === undefined || rest.length > 0 || !isId(companyId)) {
      return complainOfUsage(terminal, budgetsCommand);
    }
    if ((await findCompany(database, companyId)) === null) return complainOfNoCompany(terminal, companyId);
    const budgets = await listBudgetsWithSpending(database, companyId, new Date(clock.now()));
    if (isJson) return printJson(terminal, budgets);
    for (const budget of budgets) terminal.print(lineAbout(budget));
    if (budgets.length === 0) terminal.print('no budgets');
    return EXIT_OK;
  },
};

export const setBudgetCommand: Command = {
  name: 'set-budget',
  usage: 'COMPANY_ID company|project|key|end-user [SUBJECT] CREDITS|none [--alert-only]',
  summary: 'Sets a monthly budget of a company, or deletes it (none).',
  works: 'on-the-database',
  async run({ terminal, database, sharedState, secrets, clock }, given) {
    const options = readBudget(given);
    if (options === null) return complainOfUsage(terminal, setBudgetCommand);
    if ('wrongCredits' in options) return complainOfCredits(terminal, 'CREDITS', options.wrongCredits);
    const { companyId, scope, subject, monthlyMicro, isHard } = options;
    if (!isId(companyId) || (await findCompany(database, companyId)) === null) {
      return complainOfNoCompany(terminal, companyId);
    }
    const now = new Date(clock.now());
    const problem = await database.transaction(async (transaction) => {
      const all = await listBudgetsWithSpending(transaction, companyId, now);
      const stored = await storedSubject(transaction, { companyId, scope, subject });
      const old = all.find((one) => one.scope === scope && one.subject === stored);
      const recorded = {
        ...{ happenedAt: now, companyId, actorId: null, actorEmail: null, objectKind: 'budget' },
        ...{ clientAddress: 'command line', requestId: secrets.newId() },
      };
      const details = { scope, subject: subject ?? '', hard: isHard };
      if (monthlyMicro === null) {
        if (old === undefined) return `there is no such budget: turnpike budgets ${companyId} lists them`;
        await deleteBudget(transaction, companyId, old.id);
        await appendAuditEntry(transaction, {
          ...{ ...recorded, action: 'budget.deleted', objectId: old.id, details },
        });
        return null;
      }
      const set = await setBudget(
        transaction,
        { companyId, scope, subject, monthlyMicro, isHard, version: null },
        { newId: secrets.newId(), now },
      );
      if (set.outcome !== 'set') return set.outcome === 'invalid' ? set.problem : 'try again';
      const action = set.isNew ? 'budget.created' : 'budget.changed';
      const monthlyCredits = creditsOfMicro(monthlyMicro);
      await appendAuditEntry(transaction, {
        ...{ ...recorded, action, objectId: set.budget.id, details: { ...details, monthlyCredits } },
      });
      return null;
    });
    if (problem !== null) {
      terminal.complain(problem);
      return EXIT_FAILED;
    }
    // If shared state is unavailable, the gateways read the budget within a second.
    await announceCompany(sharedState, companyId).catch(() => {});
    const named = budgetOwner(scope, subject ?? '', null);
    const amount = monthlyMicro === null ? 'none' : `${creditsOfMicro(monthlyMicro)} credits a month`;
    terminal.print(`budget of ${named}: ${amount}${isHard ? '' : ', alerts alone'}`);
    return EXIT_OK;
  },
};

interface BudgetToSet {
  readonly companyId: string;
  readonly scope: BudgetScope;
  readonly subject: string | null;
  /** Null deletes it. */
  readonly monthlyMicro: bigint | null;
  readonly isHard: boolean;
}

/** As `setBudget` stores it; a key that does not exist any more is left as it was typed. */
async function storedSubject(
  transaction: Transaction,
  { companyId, scope, subject }: Pick<BudgetToSet, 'companyId' | 'scope' | 'subject'>,
): Promise<string> {
  const typed = subject?.trim() ?? '';
  const key = scope === 'KEY' ? await findKey(transaction, companyId, typed) : null;
  return key === null ? typed : spendingKeyId(key);
}

/** Null if the arguments are invalid. */
function readBudget(given: readonly string[]): BudgetToSet | { readonly wrongCredits: string } | null {
  const words = given.filter((word) => word !== '--alert-only');
  const [companyId, named, ...rest] = words;
  const scope = BUDGET_SCOPES.find((one) => one === named?.toUpperCase().replace('-', '_'));
  if (companyId === undefined || scope === undefined) return null;
  const amount = rest.at(-1);
  if (amount === undefined || rest.length !== (scope === 'COMPANY' ? 1 : 2)) return null;
  const monthlyMicro = amount === 'none' ? null : microOfCredits(amount);
  if (amount !== 'none' && monthlyMicro === null) return { wrongCredits: amount };
  const subject = scope === 'COMPANY' ? null : (rest[0] ?? null);
  return { companyId, scope, subject, monthlyMicro, isHard: words.length === given.length };
}

function lineAbout(budget: BudgetWithSpending): string {
  const { id, scope, subject, keyName, monthlyMicro, spentMicro, isHard, topEndUser, usedUpBy } = budget;
  const spent = `${creditsOfMicro(spentMicro)} of ${creditsOfMicro(monthlyMicro)} credits spent this month`;
  const most = topEndUser === null ? '' : `, most by ${JSON.stringify(topEndUser)}; used up by ${usedUpBy}`;
  return `${id} ${budgetOwner(scope, subject, keyName)}: ${spent}${most} (${isHard ? 'refuses' : 'alerts alone'})`;
}
