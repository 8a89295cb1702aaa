import {
  companiesCommand,
  createCompany,
  createSuperAdmin,
  issueToken,
  resetTotpCommand,
} from './account-commands.ts';
import { correctCommand } from './audit/audit-commands.ts';
import { budgetsCommand, setBudgetCommand } from './budgets/budget-commands.ts';
import type { Command } from './command.ts';
import { ceilingsCommand, setCeilingsCommand } from './companies/ceiling-commands.ts';
import { resumeCompanyCommand, suspendCompanyCommand } from './companies/suspension-commands.ts';
import { adjustCreditsCommand, auditCommand, statementCommand } from './credit-commands.ts';
import { exportCallsCommand, migrateCommand, queueCommand, redriveCommand } from './deployment-commands.ts';
import { examplesOf } from './examples.ts';
import {
  invoiceMonthCommand,
  invoicesCommand,
  markInvoicePaidCommand,
  setBillingCommand,
  voidInvoiceCommand,
} from './invoice-commands.ts';
import { keysCommand, mintKeyCommand, revokeKeyCommand, rotateKeyCommand } from './key-commands.ts';
import {
  aliasesCommand,
  marginsCommand,
  pricesCommand,
  retireAliasCommand,
  setPriceCommand,
} from './model-commands.ts';
import {
  createWebhookEndpointCommand,
  deactivateStaleSubscriptionsCommand,
  paymentEventsCommand,
  recreateWebhookEndpointCommand,
  replayPaymentEventCommand,
  replayPaymentsCommand,
} from './payment-commands.ts';
import {
  assignPlanCommand,
  otherInvoiceLinesCommand,
  planRatesCommand,
  plansCommand,
  setPlanRateCommand,
} from './plan-commands.ts';
import { rebuildPackPricingCommand, rebuildPlanPricingCommand } from './pricing-commands.ts';
import { resealKeysCommand } from './secrets/reseal-keys-command.ts';
import {
  createServiceTokenCommand,
  revokeServiceTokenCommand,
  serviceTokensCommand,
} from './service-token-commands.ts';
import { modelsCommand, providersCommand, setAliasCommand } from './set-alias-command.ts';
import { repairCallsCommand, setAsideCallsCommand } from './set-aside-commands.ts';
import { verifyDeployment } from './verify-deployment.ts';
import { withheldUsageCommand } from './withheld-usage-command.ts';

/** All commands of `turnpike` except `help`, `version`, `settings` and `commands`. */
export const COMMANDS: readonly Command[] = [
  migrateCommand,
  createSuperAdmin,
  createCompany,
  issueToken,
  resetTotpCommand,
  companiesCommand,
  budgetsCommand,
  setBudgetCommand,
  ceilingsCommand,
  setCeilingsCommand,
  suspendCompanyCommand,
  resumeCompanyCommand,
  keysCommand,
  mintKeyCommand,
  rotateKeyCommand,
  revokeKeyCommand,
  serviceTokensCommand,
  createServiceTokenCommand,
  revokeServiceTokenCommand,
  aliasesCommand,
  providersCommand,
  modelsCommand,
  setAliasCommand,
  retireAliasCommand,
  resealKeysCommand,
  pricesCommand,
  setPriceCommand,
  marginsCommand,
  adjustCreditsCommand,
  auditCommand,
  correctCommand,
  setBillingCommand,
  invoicesCommand,
  invoiceMonthCommand,
  markInvoicePaidCommand,
  voidInvoiceCommand,
  statementCommand,
  exportCallsCommand,
  setAsideCallsCommand,
  repairCallsCommand,
  withheldUsageCommand,
  paymentEventsCommand,
  replayPaymentEventCommand,
  replayPaymentsCommand,
  deactivateStaleSubscriptionsCommand,
  rebuildPlanPricingCommand,
  rebuildPackPricingCommand,
  plansCommand,
  assignPlanCommand,
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

/**
 * The first option that the usage of the command does not have. Without this check it would be taken for a name or a reason:
 * `void-invoice ID --json` would void the invoice. Null for commands with a shortened usage, which parse their options.
 */
export function unknownOption({ usage }: Pick<Command, 'usage'>, words: readonly string[]): string | null {
  if (usage.includes('…')) return null;
  const known: readonly string[] = usage.match(OPTION) ?? [];
  const typed = words.flatMap((word) => /^--[a-z][a-z-]*/i.exec(word)?.[0] ?? []);
  return typed.find((option) => !known.includes(option)) ?? null;
}

const OPTION = /--[a-z][a-z-]*/g;

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
    `  ${'commands'.padEnd(width)}  Prints the page of all commands, docs/command-line.md.`,
    `  ${'help COMMAND'.padEnd(width)}  Shows how a command is typed, with examples.`,
    `  ${'--version'.padEnd(width)}  Prints the version.`,
    '',
    EXIT_CODES,
  ].join('\n');
}

const EXIT_CODES =
  'Exit codes: 0 success; 1 failure, or a problem was found; 2 invalid arguments, nothing was changed.';

/** The headings of docs/command-line.md, each in front of its first command. */
const HEADINGS: Readonly<Record<string, string>> = {
  migrate: 'Database and people',
  companies: 'Companies',
  keys: 'Keys and tokens',
  aliases: 'Models, provider keys and prices',
  'adjust-credits': 'Credits and the audit',
  'set-billing': 'Invoices, statements and exports',
  'set-aside-calls': 'Calls that wait for an operator',
  'payment-events': 'Payments',
  plans: 'Plans',
  'create-webhook-endpoint': 'Webhook of the payment provider',
  queue: 'Queues and deployment',
};

const TABLE_HEAD = '| command | does |\n|---|---|';

/** The whole of docs/command-line.md. */
export function commandsPage(): string {
  const rows = COMMANDS.map(({ name, usage, summary }) => {
    const typed = `${name} ${usage}`.trim().replaceAll('|', '\\|');
    const row = `| \`${typed}\` | ${summary} |`;
    const heading = HEADINGS[name];
    return heading === undefined ? row : `\n## ${heading}\n\n${TABLE_HEAD}\n${row}`;
  });
  return `# Command line

From a checkout type \`npm run turnpike -- COMMAND …\`, with the executable or an installed package \`turnpike COMMAND …\`.
\`turnpike help COMMAND\` shows one command with examples.

A command needs the settings of the services: \`DATABASE_URL\`, \`REDIS_URL\`, and \`MASTER_KEY\` if it reads or writes
providers' keys. If Redis cannot be reached, it says so and works on the database alone: running services notice its
changes by themselves within seconds. On the embedded parts it runs inside the process that has the database, through
\`control.sock\` in \`DATA_DIR\`, so paths of files are absolute.

- **\`--json\`** prints one JSON value on standard output: an array for lists, an object for one thing. Credits are exact
  decimals in strings, times are in UTC. A list that is as long as its page has more: pass the last id as \`AFTER_ID\`.
- **Results** go to standard output, errors to standard error, each line beginning with \`turnpike:\`.
- **Secrets**: new keys, tokens and passwords are printed once and never again. Secrets are read from files, never from
  the command line, where every process of the machine could read them.

| exit code | means |
|---|---|
| 0 | success |
| 1 | failure, or a problem was found (\`audit\`, \`verify-deployment\`); a message on standard error says what |
| 2 | invalid arguments, nothing was changed; the usage is on standard error |

This page is written by \`npm --silent run turnpike -- commands > docs/command-line.md\`, and a test compares it with the
code.
${rows.join('\n')}

## Help

${TABLE_HEAD}
| \`settings\` | Prints every setting with its default and its meaning. |
| \`commands\` | Prints this page. |
| \`help [COMMAND]\` | Lists the commands, or shows how one is typed, with examples. |
| \`--version\` | Prints the version. |
`;
}

/** The usage of one command, with examples. */
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

/** The command with the most similar name; null if none is similar. */
export function nearestCommand(typed: string): string | null {
  const near = COMMANDS.map(({ name }) => ({ name, steps: editsBetween(typed, name) }));
  const [best] = near.sort((a, b) => a.steps - b.steps);
  return best !== undefined && best.steps <= Math.max(1, Math.floor(best.name.length / 3)) ? best.name : null;
}

/** The number of characters to add, remove or replace. The input is truncated: no command has a longer name. */
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
