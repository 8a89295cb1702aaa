/**
 * What limits money, by docs/billing.md and docs/caching.md alone, in plain whole micro-credits: balances, credit line,
 * spending limits, budgets, and what running calls hold. It shares no code with `src`.
 */
export type Scope = 'COMPANY' | 'PROJECT' | 'KEY' | 'END_USER';

export interface ModelKey {
  readonly id: string;
  /** The first of its rotations, whose limit and budget all of them share. */
  readonly root: string;
  /** The member whose balance pays; null if the company's does. */
  readonly payer: string | null;
  limit: number | null;
  project: string | null;
  isRevoked: boolean;
  readonly expiresAtMs: number | null;
}

export interface ModelCall {
  readonly key: ModelKey;
  readonly endUser: string | null;
  readonly atMs: number;
  /** What it may cost, which is held until it ends. Null for one that holds and costs nothing. */
  readonly holds: number | null;
}

/** A call that was admitted, as it was then. */
interface Running {
  readonly account: string;
  readonly holds: number;
  /** What its cost counts for: company, project, key and end user, each with the month. */
  readonly subjects: readonly string[];
  /** Those of them with a hard budget, and the key's limit, at that time. */
  readonly heldFor: readonly string[];
}

export type Refusal =
  | 'UNAUTHENTICATED'
  | 'COMPANY_SUSPENDED'
  | 'INSUFFICIENT_CREDITS'
  | 'CREDITS_HELD'
  | 'KEY_SPENDING_LIMIT'
  | 'BUDGET_EXCEEDED';

interface ModelBudget {
  readonly scope: Scope;
  readonly subject: string;
  readonly most: number;
  readonly isHard: boolean;
}

export const COMPANY = 'company';
const EVERY_END_USER = '*';
const LIMIT = 'limit ';

export const monthOf = (atMs: number) => new Date(atMs).toISOString().slice(0, 7);

export class MoneyModel {
  /** By member, and the company's own. */
  readonly balances = new Map<string, number>([[COMPANY, 0]]);
  /** How far below zero the company may go; null for no limit, 0 if it is PREPAID. */
  line: number | null = 0;
  isSuspended = false;
  readonly keys: ModelKey[] = [];
  readonly budgets = new Map<string, ModelBudget>();
  readonly running = new Map<number, Running>();
  /** By scope, subject and month; a key by its root. */
  readonly spent = new Map<string, number>();

  balance(account: string): number {
    return this.balances.get(account) ?? 0;
  }

  add(account: string, micro: number): void {
    this.balances.set(account, this.balance(account) + micro);
  }

  isInDebt(): boolean {
    return this.line !== null && this.balance(COMPANY) < -this.line;
  }

  /** Before anything is held. */
  isBlockedByDebt({ key }: ModelCall): boolean {
    return key.payer !== null && this.isInDebt();
  }

  held(account: string): number {
    return this.sumHeld((call) => call.account === account);
  }

  /** The balance that can be moved to a member or back: a credit line, and what calls hold, stay. */
  movable(account: string): number {
    return Math.max(0, this.balance(account) - this.held(account));
  }

  spentOf(scope: Scope, subject: string, month: string): number {
    return this.spent.get(`${scope} ${month} ${subject}`) ?? 0;
  }

  /** In the order of the gateway's refusals. Null if the call begins. */
  refusalOf(call: ModelCall): Refusal | null {
    const { key, atMs, holds } = call;
    const isExpired = key.expiresAtMs !== null && key.expiresAtMs <= atMs;
    if (key.isRevoked || isExpired) return 'UNAUTHENTICATED';
    if (this.isSuspended) return 'COMPANY_SUSPENDED';
    if (this.isBlockedByDebt(call)) return 'INSUFFICIENT_CREDITS';
    if (holds === null) return null;
    const account = key.payer ?? COMPANY;
    const line = key.payer === null ? this.line : 0;
    const level = line === null ? Number.POSITIVE_INFINITY : this.balance(account) + line;
    if (level <= 0) return 'INSUFFICIENT_CREDITS';
    if (level - this.held(account) <= 0) return 'CREDITS_HELD';
    const month = monthOf(atMs);
    if (key.limit !== null) {
      const spent = this.spentOf('KEY', key.root, month);
      if (spent >= key.limit) return 'KEY_SPENDING_LIMIT';
      if (spent + this.heldFor(limitName(key, month)) >= key.limit) return 'CREDITS_HELD';
    }
    for (const { scope, subject, most } of this.hardBudgetsOf(call)) {
      const spent = this.spentOf(scope, subject, month);
      if (spent >= most) return 'BUDGET_EXCEEDED';
      if (spent + this.heldFor(`${scope} ${month} ${subject}`) >= most) return 'CREDITS_HELD';
    }
    return null;
  }

  /** Some rotation of the key has a spending limit. */
  hasLimit(root: string): boolean {
    return this.keys.some((key) => key.root === root && key.limit !== null);
  }

  beganUnlimited(number: number): boolean {
    return this.running.get(number)?.heldFor.every((name) => !name.startsWith(LIMIT)) === true;
  }

  /** As if the call did not run. */
  without<T>(number: number, look: () => T): T {
    const call = this.running.get(number);
    if (call === undefined) return look();
    this.running.delete(number);
    const found = look();
    this.running.set(number, call);
    return found;
  }

  begin(number: number, call: ModelCall): void {
    const { key, endUser, atMs, holds } = call;
    const month = monthOf(atMs);
    const heldFor = this.hardBudgetsOf(call).map(({ scope, subject }) => `${scope} ${month} ${subject}`);
    if (key.limit !== null) heldFor.push(limitName(key, month));
    const subjects = [`COMPANY ${month} `, `KEY ${month} ${key.root}`];
    if (key.project !== null) subjects.push(`PROJECT ${month} ${key.project}`);
    if (endUser !== null) subjects.push(`END_USER ${month} ${endUser}`);
    this.running.set(number, { account: key.payer ?? COMPANY, holds: holds ?? 0, subjects, heldFor });
  }

  /** In the month in which it began, whatever has changed since. A failed call costs 0. */
  end(number: number, cost: number): void {
    const call = this.running.get(number);
    if (call === undefined) throw new Error(`call ${number} does not run`);
    this.running.delete(number);
    this.add(call.account, -cost);
    for (const name of call.subjects) this.spent.set(name, (this.spent.get(name) ?? 0) + cost);
  }

  setBudget(budget: ModelBudget): void {
    this.budgets.set(`${budget.scope} ${budget.subject}`, budget);
  }

  private heldFor(name: string): number {
    return this.sumHeld(({ heldFor }) => heldFor.includes(name));
  }

  private sumHeld(isOf: (call: Running) => boolean): number {
    let sum = 0;
    for (const call of this.running.values()) if (isOf(call)) sum += call.holds;
    return sum;
  }

  /** An end user's own budget replaces the one for every end user. */
  private hardBudgetsOf({ key, endUser }: ModelCall): readonly ModelBudget[] {
    const found = [
      this.budgets.get('COMPANY '),
      key.project === null ? undefined : this.budgets.get(`PROJECT ${key.project}`),
      this.budgets.get(`KEY ${key.root}`),
    ];
    if (endUser !== null) {
      const own = endUser === EVERY_END_USER ? undefined : this.budgets.get(`END_USER ${endUser}`);
      const every = this.budgets.get(`END_USER ${EVERY_END_USER}`);
      found.push(own ?? (every && { ...every, subject: endUser }));
    }
    return found.flatMap((one) => (one?.isHard === true ? [one] : []));
  }
}

function limitName({ root }: ModelKey, month: string): string {
  return `${LIMIT}${month} ${root}`;
}
