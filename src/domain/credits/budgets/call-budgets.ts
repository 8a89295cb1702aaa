export const BUDGET_SCOPES = ['COMPANY', 'PROJECT', 'KEY', 'END_USER'] as const;

export type BudgetScope = (typeof BUDGET_SCOPES)[number];

/** The subject of the budget for every end user without a budget of their own. */
export const EVERY_END_USER = '*';

/** A budget that a call is counted against. */
export interface CallBudget {
  readonly id: string;
  readonly scope: BudgetScope;
  /** The project, the id of the key (of its first rotation) or the end user of the call; empty for COMPANY. */
  readonly subject: string;
  /** Below 2^53, like every held amount. */
  readonly mostMicro: number;
  /** False: it only raises alerts. */
  readonly isHard: boolean;
}

/** A company's budgets, indexed for calls. */
export interface CompanyBudgets {
  readonly company: CallBudget | null;
  readonly projects: ReadonlyMap<string, CallBudget>;
  readonly keys: ReadonlyMap<string, CallBudget>;
  readonly endUsers: ReadonlyMap<string, CallBudget>;
  readonly everyEndUser: CallBudget | null;
}

/** The list must not have two budgets of the same scope and subject. */
export function companyBudgets(list: readonly CallBudget[]): CompanyBudgets {
  const bySubject = (scope: BudgetScope) =>
    new Map(list.filter((one) => one.scope === scope).map((one) => [one.subject, one]));
  const endUsers = bySubject('END_USER');
  const everyEndUser = endUsers.get(EVERY_END_USER) ?? null;
  endUsers.delete(EVERY_END_USER);
  const [company = null] = bySubject('COMPANY').values();
  return { company, projects: bySubject('PROJECT'), keys: bySubject('KEY'), endUsers, everyEndUser };
}

/** What determines the budgets of a call. */
interface BudgetedCall {
  /**
   * The first rotation of the key, which has the budget of all. Null for calls that the platform makes for the company.
   */
  readonly keyId: string | null;
  readonly project: string | null;
  /** Undefined if the client names none: then no end user budget applies. */
  readonly endUser: string | undefined;
}

/**
 * The budgets of a call, at most one per scope: an end user's own budget replaces the one for every end user. Undefined
 * if there are none.
 */
export function budgetsOfCall(
  { company, projects, keys, endUsers, everyEndUser }: CompanyBudgets,
  { keyId, project, endUser }: BudgetedCall,
): readonly CallBudget[] | undefined {
  const found: CallBudget[] = [];
  if (company !== null) found.push(company);
  const ofProject = project === null ? undefined : projects.get(project);
  if (ofProject !== undefined) found.push(ofProject);
  const ofKey = keyId === null ? undefined : keys.get(keyId);
  if (ofKey !== undefined) found.push(ofKey);
  if (endUser !== undefined) {
    // An end user that is really named `*` is an end user like any other.
    const ofUser = endUsers.get(endUser) ?? (everyEndUser && { ...everyEndUser, subject: endUser });
    if (ofUser !== null) found.push(ofUser);
  }
  return found.length === 0 ? undefined : found;
}

/** The spending of a budget's subject in a month, after the charge of a call. */
export interface BudgetSpending {
  readonly scope: BudgetScope;
  readonly subject: string;
  /** Its first day, UTC: 'YYYY-MM-01'. */
  readonly month: string;
  readonly spentMicro: bigint;
}
