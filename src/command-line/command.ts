import { type ParseArgsConfig, parseArgs } from 'node:util';
import type { SuspensionOutbox } from '../domain/accounts/suspension.ts';
import type { AccessTokens } from '../domain/accounts/tokens.ts';
import type { AnswerCipher } from '../domain/calls/idempotency/answer-cipher.ts';
import { creditsOfMicro } from '../domain/credits/ledger/credit-account.ts';
import type { Cipher } from '../domain/models/cipher.ts';
import type { MissedEventsParts } from '../domain/payments/missed-events.ts';
import { beginsWithDay, type Clock } from '../ports/clock.ts';
import type { Database } from '../ports/database.ts';
import type { JobQueue } from '../ports/job-queue.ts';
import type { ModelUpstream } from '../ports/model-upstream.ts';
import type { PaymentProvider } from '../ports/payment-provider.ts';
import type { Secrets } from '../ports/secrets.ts';
import type { SharedState } from '../ports/shared-state.ts';
import type { TableFiles } from '../ports/table-files.ts';

/** The output of a command, line by line: results and error messages. */
export interface Terminal {
  print(line: string): void;
  complain(line: string): void;
}

/** The opened system, for the commands that need it. */
export interface OpenedSystem {
  readonly database: Database;
  readonly jobQueue: JobQueue;
  readonly sharedState: SharedState;
  readonly mailOutbox: SuspensionOutbox;
  /** Rejects if this process does not have the secret that the services sign with. */
  accessTokens(): Promise<AccessTokens>;
  /** In production, the embedded models serve no alias. */
  readonly isProduction?: boolean;
  /** The part before the slash of every model alias. */
  readonly aliasPrefix: string;
  /** For providers' keys. Rejects if this process does not have the MASTER_KEY of the services. */
  cipher(): Promise<Cipher>;
  /** For stored texts of customers. Rejects like `cipher`. */
  answerCipher(): Promise<AnswerCipher>;
  /** For test calls. Undefined if no provider can be called. */
  providers?(): Promise<ModelUpstream & { close(): void }>;
  /** Undefined if this process has no payment provider. */
  paymentProvider?(): Promise<PaymentProvider>;
  /** The parts that apply a payment provider's events. Undefined if this process has no payment provider. */
  payments?(): Promise<MissedEventsParts>;
  /** Files for analytics in a folder of the machine that runs the database's process. Undefined if none can be written. */
  tableFiles?(folder: string): Promise<TableFiles>;
  /** Migrates the database to this code's version and returns the names of the steps. */
  migrate(): Promise<readonly string[]>;
}

export interface CommandContext {
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly secrets: Secrets;
  /** The deployments known on this machine: that of the demo, and that of the settings. */
  deployments?(): readonly Readonly<Record<'backend' | 'gateway' | 'ai', string>>[];
}

/**
 * A command that uses the database runs where the database is: for the embedded one, in the process that has it open,
 * if one is running. It must therefore write only to the given terminal and not read standard input.
 */
export type Command = CommandWords &
  (
    | { readonly works: 'alone'; run(context: CommandContext, words: readonly string[]): Promise<number> }
    | {
        readonly works: 'on-the-database';
        run(context: CommandContext & OpenedSystem, words: readonly string[]): Promise<number>;
      }
  );

interface CommandWords {
  readonly name: string;
  /** The arguments after the name. */
  readonly usage: string;
  readonly summary: string;
}

export const EXIT_OK = 0;
export const EXIT_FAILED = 1;
export const EXIT_USAGE = 2;

export function complainOfNoCompany(terminal: Terminal, companyId: string): number {
  terminal.complain(`there is no company ${companyId}: turnpike companies lists them`);
  return EXIT_FAILED;
}

/** Prints the usage of the command. `usage` is given if the command's own is shortened for the list of commands. */
export function complainOfUsage(
  terminal: Terminal,
  command: Pick<Command, 'name' | 'usage'>,
  usage = command.usage,
): number {
  terminal.complain(`usage: turnpike ${command.name} ${usage}`.trimEnd());
  return EXIT_USAGE;
}

/** A day in UTC, or a time with its zone: the local time of the process may not be the operator's. */
const ISO_DATE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/;

/** Returns an invalid Date for any other text, which the domain refuses. */
export function momentIn(text: string): Date {
  return new Date(ISO_DATE.test(text) && beginsWithDay(text) ? text : Number.NaN);
}

type Options = NonNullable<ParseArgsConfig['options']>;

/**
 * The options and positional arguments. Null for an unknown option, an option without its value, or more than
 * `maxWords` arguments; the command then shows its usage.
 */
export function readOptions<const Given extends Options>(
  words: readonly string[],
  options: Given,
  maxWords = 0,
) {
  try {
    const typed = parseArgs({ args: [...words], options, allowPositionals: true });
    return typed.positionals.length > maxWords ? null : typed;
  } catch {
    return null;
  }
}

/** For an amount that `microOfCredits` does not read. */
export function complainOfCredits(terminal: Terminal, what: string, text: string): number {
  terminal.complain(
    `${what}: ${JSON.stringify(text)} is not an amount of credits. Write digits with at most 6 decimals, as 12.5: no exponent, comma or blank. Nothing was changed`,
  );
  return EXIT_USAGE;
}

/** `--json` may be at any position. */
export function takeJson(words: readonly string[]): {
  readonly isJson: boolean;
  readonly words: readonly string[];
} {
  return { isJson: words.includes('--json'), words: words.filter((word) => word !== '--json') };
}

/**
 * Lists are printed as an array, a single item as an object. Amounts in micro-credits are printed as credits, as exact
 * decimals in strings, and lose the unit in their name: `balanceMicro` becomes `balance`.
 */
export function printJson(terminal: Terminal, value: unknown): number {
  terminal.print(JSON.stringify(value, readable, 2));
  return EXIT_OK;
}

function readable(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') {
    return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) =>
      name.endsWith('Micro') && (typeof part === 'bigint' || part === null)
        ? [name.slice(0, -'Micro'.length), part === null ? null : creditsOfMicro(part)]
        : [name, part],
    ),
  );
}
