import {
  LONGEST_SUSPENSION_REASON,
  resumeCompany,
  type SuspensionChange,
  suspendCompany,
} from '../../domain/accounts/suspension.ts';
import { type AuditDetails, appendAuditEntry } from '../../domain/audit/audit-log.ts';
import { announceCompany } from '../../domain/credits/ledger/credit-account.ts';
import { isId } from '../../domain/keys/api-key.ts';
import type { Transaction } from '../../ports/database.ts';
import {
  type Command,
  type CommandContext,
  complainOfNoCompany,
  complainOfUsage,
  EXIT_OK,
  type OpenedSystem,
  readOptions,
} from '../command.ts';

export const suspendCompanyCommand: Command = {
  name: 'suspend-company',
  usage: 'COMPANY_ID --reason "…"',
  summary:
    'Refuses all model calls of a company within a second. The company sees the reason, and its admins are notified by e-mail.',
  works: 'on-the-database',
  async run(context, words) {
    const typed = readOptions(words, { reason: { type: 'string' } }, 1);
    const [companyId] = typed?.positionals ?? [];
    const reason = String(typed?.values.reason ?? '').trim();
    const isLine = reason !== '' && reason.length <= LONGEST_SUSPENSION_REASON && !/\p{Cc}/u.test(reason);
    if (companyId === undefined || !isId(companyId) || !isLine) {
      return complainOfUsage(context.terminal, suspendCompanyCommand);
    }
    const now = new Date(context.clock.now());
    return await changeSuspension(context, companyId, {
      action: 'company.suspended',
      details: { reason },
      printed: `${companyId} is suspended: ${reason}`,
      apply: (transaction) => suspendCompany(transaction, context.mailOutbox, { companyId, reason, now }),
    });
  },
};

export const resumeCompanyCommand: Command = {
  name: 'resume-company',
  usage: 'COMPANY_ID',
  summary: 'Ends the suspension of a company. Its calls are accepted again within a second.',
  works: 'on-the-database',
  async run(context, words) {
    const [companyId, ...rest] = words;
    if (companyId === undefined || !isId(companyId) || rest.length > 0) {
      return complainOfUsage(context.terminal, resumeCompanyCommand);
    }
    const now = new Date(context.clock.now());
    return await changeSuspension(context, companyId, {
      action: 'company.resumed',
      details: {},
      printed: `${companyId} is not suspended`,
      apply: (transaction) => resumeCompany(transaction, context.mailOutbox, { companyId, now }),
    });
  },
};

interface RequestedChange {
  readonly action: string;
  readonly details: AuditDetails;
  readonly printed: string;
  apply(transaction: Transaction): Promise<SuspensionChange>;
}

async function changeSuspension(
  { terminal, database, sharedState, clock, secrets }: CommandContext & OpenedSystem,
  companyId: string,
  { action, details, printed, apply }: RequestedChange,
): Promise<number> {
  const change = await database.transaction(async (transaction) => {
    const done = await apply(transaction);
    if (done !== 'changed') return done;
    await appendAuditEntry(transaction, {
      ...{ happenedAt: new Date(clock.now()), companyId, actorId: null, actorEmail: null },
      ...{ action, objectKind: 'company', objectId: companyId, details },
      ...{ clientAddress: 'command line', requestId: secrets.newId() },
    });
    return done;
  });
  if (change === 'no-such-company') return complainOfNoCompany(terminal, companyId);
  // If shared state is unavailable, the gateways read it within a second.
  await announceCompany(sharedState, companyId).catch(() => {});
  terminal.print(printed);
  return EXIT_OK;
}
