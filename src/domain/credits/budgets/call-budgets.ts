export const BUDGET_SCOPES = ['COMPANY', 'PROJECT', 'KEY', 'END_USER'] as const;

export type BudgetScope = (typeof BUDGET_SCOPES)[number];

/** The subject of a budget for every end user who has none of their own. */
export const EVERY_END_USER = '*';

/** A budget that a call counts for. */
export interface CallBudget {
  readonly id: string;
  readonly scope: BudgetScope;
  /** The project, the id of the key (of its first rotation) or the end user of the call; empty for COMPANY. */
  readonly subject: string;
  /** Below 2^53, as everything that is held. */
  readonly mostMicro: number;
  /** False: it only raises alerts. */
  readonly isHard: boolean;
}

/** The budgets of a company, as its calls look for them. */
export interface CompanyBudgets {
  readonly company: CallBudget | null;
  readonly projects: ReadonlyMap<string, CallBudget>;
  readonly keys: ReadonlyMap<string, CallBudget>;
  readonly endUsers: ReadonlyMap<string, CallBudget>;
  readonly everyEndUser: CallBudget | null;
}

/** Of a list without two of one scope and subject. */
export function companyBudgets(list: readonly CallBudget[]): CompanyBudgets {
  const bySubject = (scope: BudgetScope) =>
    new Map(list.filter((one) => one.scope === scope).map((one) => [one.subject, one]));
  const endUsers = bySubject('END_USER');
  const everyEndUser = endUsers.get(EVERY_END_USER) ?? null;
  endUsers.delete(EVERY_END_USER);
  const [company = null] = bySubject('COMPANY').values();
  return { company, projects: bySubject('PROJECT'), keys: bySubject('KEY'), endUsers, everyEndUser };
}

/** What decides which budgets a call counts for. */
export interface BudgetedCall {
  /** The first of the key's rotations, which has the budget of all. Null where the platform calls for the company. */
  readonly keyId: string | null;
  readonly project: string | null;
  /** Undefined where the client names none: then no budget of an end user applies. */
  readonly endUser: string | undefined;
}

/**
 * Those that a call counts for, at most one of each scope: a budget of an end user's own replaces the one for every end
 * user. Undefined without any.
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
    // A client that names itself `*` is an end user like any other.
    const ofUser = endUsers.get(endUser) ?? (everyEndUser && { ...everyEndUser, subject: endUser });
    if (ofUser !== null) found.push(ofUser);
  }
  return found.length === 0 ? undefined : found;
}

/** What a budget's subject has spent in a month, as the charge of a call left it. */
export interface BudgetSpending {
  readonly scope: BudgetScope;
  readonly subject: string;
  /** Its first day, UTC: 'YYYY-MM-01'. */
  readonly month: string;
  readonly spentMicro: bigint;
}
