import {
  companiesCommand,
  createCompany,
  createSuperAdmin,
  issueToken,
  resetTotpCommand,
} from './account-commands.ts';
import { ceilingsCommand, setCeilingsCommand } from './ceiling-commands.ts';
import type { Command } from './command.ts';
import { adjustCreditsCommand, auditCommand, statementCommand } from './credit-commands.ts';
import { migrateCommand, queueCommand, redriveCommand } from './deployment-commands.ts';
import { examplesOf } from './examples.ts';
import {
  invoiceMonthCommand,
  invoicesCommand,
  markInvoicePaidCommand,
  setBillingCommand,
  voidInvoiceCommand,
} from './invoice-commands.ts';
import { keysCommand, mintKeyCommand, revokeKeyCommand, rotateKeyCommand } from './key-commands.ts';
import { aliasesCommand, pricesCommand, resealKeysCommand, setPriceCommand } from './model-commands.ts';
import {
  createWebhookEndpointCommand,
  deactivateStaleSubscriptionsCommand,
  paymentEventsCommand,
  recreateWebhookEndpointCommand,
  replayPaymentEventCommand,
  replayPaymentsCommand,
} from './payment-commands.ts';
import { otherInvoiceLinesCommand, planRatesCommand, setPlanRateCommand } from './plan-commands.ts';
import { rebuildPackPricingCommand, rebuildPlanPricingCommand } from './pricing-commands.ts';
import {
  createServiceTokenCommand,
  revokeServiceTokenCommand,
  serviceTokensCommand,
} from './service-token-commands.ts';
import { providersCommand, setAliasCommand } from './set-alias-command.ts';
import { repairCallsCommand, setAsideCallsCommand } from './set-aside-commands.ts';
import { verifyDeployment } from './verify-deployment.ts';
import { withheldUsageCommand } from './withheld-usage-command.ts';

/** Everything an operator can type after `turnpike`, besides `help` and `settings`. */
export const COMMANDS: readonly Command[] = [
  migrateCommand,
  createSuperAdmin,
  createCompany,
  issueToken,
  resetTotpCommand,
  companiesCommand,
  ceilingsCommand,
  setCeilingsCommand,
  keysCommand,
  mintKeyCommand,
  rotateKeyCommand,
  revokeKeyCommand,
  serviceTokensCommand,
  createServiceTokenCommand,
  revokeServiceTokenCommand,
  aliasesCommand,
  providersCommand,
  setAliasCommand,
  resealKeysCommand,
  pricesCommand,
  setPriceCommand,
  adjustCreditsCommand,
  auditCommand,
  setBillingCommand,
  invoicesCommand,
  invoiceMonthCommand,
  markInvoicePaidCommand,
  voidInvoiceCommand,
  statementCommand,
  setAsideCallsCommand,
  repairCallsCommand,
  withheldUsageCommand,
  paymentEventsCommand,
  replayPaymentEventCommand,
  replayPaymentsCommand,
  deactivateStaleSubscriptionsCommand,
  rebuildPlanPricingCommand,
  rebuildPackPricingCommand,
  planRatesCommand,
  setPlanRateCommand,
  otherInvoiceLinesCommand,
  createWebhookEndpointCommand,
  recreateWebhookEndpointCommand,
  queueCommand,
  redriveCommand,
  verifyDeployment(),
];

export function commandNamed(name: string): Command | null {
  return COMMANDS.find((command) => command.name === name) ?? null;
}

export function help(): string {
  const width = Math.max(...COMMANDS.map(({ name, usage }) => name.length + usage.length + 1));
  const lines = COMMANDS.map(
    ({ name, usage, summary }) => `  ${`${name} ${usage}`.trim().padEnd(width)}  ${summary}`,
  );
  return [
    'usage: turnpike COMMAND …',
    '',
    ...lines,
    `  ${'settings'.padEnd(width)}  Prints every setting with its default and its meaning.`,
    `  ${'help COMMAND'.padEnd(width)}  Shows how a command is typed, with examples.`,
    `  ${'--version'.padEnd(width)}  Prints the version.`,
    '',
    EXIT_CODES,
  ].join('\n');
}

const EXIT_CODES = 'Exit codes: 0 it is done; 1 it failed, or found something wrong; 2 it was typed wrongly.';

/** How one command is typed. */
export function helpOf({ name, usage, summary }: Command): string {
  return [
    `usage: turnpike ${name} ${usage}`.trimEnd(),
    '',
    summary,
    '',
    'Examples:',
    ...examplesOf(name).map((example) => `  turnpike ${example}`),
    '',
    EXIT_CODES,
  ].join('\n');
}

/** The command whose name is nearest to what was typed; null where none is near. */
export function nearestCommand(typed: string): string | null {
  const near = COMMANDS.map(({ name }) => ({ name, steps: editsBetween(typed, name) }));
  const [best] = near.sort((a, b) => a.steps - b.steps);
  return best !== undefined && best.steps <= Math.max(1, Math.floor(best.name.length / 3)) ? best.name : null;
}

/** Letters to add, drop or replace. What is typed is cut: no command has a longer name. */
function editsBetween(typed: string, name: string): number {
  const given = typed.slice(0, 64);
  let row = Array.from({ length: name.length + 1 }, (_, at) => at);
  for (let i = 1; i <= given.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= name.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (given[i - 1] === name[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[name.length] ?? 0;
}
