import { findCompany, lockCompanyRow } from '../domain/accounts/company.ts';
import { findUserByEmail } from '../domain/accounts/user.ts';
import { dropAnswersOfKeys } from '../domain/answer-cache/answer-cache.ts';
import { creditsOfMicro, microOfCredits } from '../domain/credits/ledger/credit-account.ts';
import { openUserAccount } from '../domain/credits/ledger/user-account.ts';
import { type ApiKey, isId, keyStatus } from '../domain/keys/api-key.ts';
import { findKey, LONGEST_PAGE, listKeys, revokeKey, rotateKey } from '../domain/keys/key-lifecycle.ts';
import { type KeyToMint, mintKey } from '../domain/keys/mint-key.ts';
import { callableAliases } from '../domain/models/alias-catalogue.ts';
import type { Transaction } from '../ports/database.ts';
import {
  type Command,
  complainOfCredits,
  complainOfNoCompany,
  complainOfUsage,
  EXIT_FAILED,
  EXIT_OK,
  momentIn,
  printJson,
  readOptions,
  type Terminal,
  takeJson,
} from './command.ts';

export const keysCommand: Command = {
  name: 'keys',
  usage: 'COMPANY_ID [AFTER_ID] [--json]',
  summary: `A company's keys, the newest first, ${LONGEST_PAGE.toLocaleString('en')} at a time.`,
  works: 'on-the-database',
  async run({ terminal, database, clock }, given) {
    const { isJson, words } = takeJson(given);
    const [companyId, after, ...rest] = words;
    if (
      companyId === undefined ||
      rest.length > 0 ||
      !isId(companyId) ||
      (after !== undefined && !isId(after))
    ) {
      return complainOfUsage(terminal, keysCommand);
    }
    if ((await findCompany(database, companyId)) === null) return complainOfNoCompany(terminal, companyId);
    const keys = await listKeys(database, companyId, after === undefined ? {} : { after });
    if (isJson)
      return printJson(
        terminal,
        keys.map((key) => shownKey(key, clock.now())),
      );
    for (const key of keys) terminal.print(lineAbout(key, clock.now()));
    if (keys.length === 0) terminal.print('no keys');
    if (keys.length === LONGEST_PAGE) terminal.print(`more: turnpike keys ${companyId} ${keys.at(-1)?.id}`);
    return EXIT_OK;
  },
};

export const mintKeyCommand: Command = {
  name: 'mint-key',
  usage: 'COMPANY_ID NAME [OPTION …]',
  summary: 'Creates a key of a company and prints it, once. Without arguments it lists its options.',
  works: 'on-the-database',
  async run({ terminal, database, secrets, clock, aliasPrefix }, given) {
    const { isJson, words } = takeJson(given);
    const options = readKeyToMint(words);
    if (options === null) {
      return complainOfUsage(terminal, mintKeyCommand, `COMPANY_ID NAME ${MINT_OPTIONS}`);
    }
    if ('wrongCredits' in options) {
      return complainOfCredits(terminal, '--spending-limit', options.wrongCredits);
    }
    const minted = await database.transaction(async (transaction) => {
      const payer = await payerOf(transaction, options);
      if (payer.outcome !== 'pays') return payer;
      const knownModels =
        options.models == null ? undefined : await callableAliases(transaction, aliasPrefix);
      const key = { ...options, payerUserId: payer.userId, knownModels };
      return await mintKey({ database: transaction, secrets, clock }, key);
    });
    switch (minted.outcome) {
      case 'minted':
        printNewKey(terminal, minted, isJson);
        return EXIT_OK;
      case 'no-such-payer':
        terminal.complain(`--payer: company ${options.companyId} has no member ${options.payer}`);
        return EXIT_FAILED;
      case 'payer-of-another-company':
        terminal.complain(`--payer: the credit account of ${options.payer} belongs to another company`);
        return EXIT_FAILED;
      case 'invalid':
        terminal.complain(`${OPTION_OF[minted.field] ?? minted.field}: ${minted.message}`);
        return EXIT_FAILED;
      case 'no-such-company':
        return complainOfNoCompany(terminal, options.companyId);
    }
  },
};

export const rotateKeyCommand: Command = {
  name: 'rotate-key',
  usage: 'COMPANY_ID KEY_ID [--expires 2031-12-31T23:00Z|never] [--json]',
  summary:
    'Creates a key with the settings of another, which stays live, and prints it, once. A key that expires needs --expires.',
  works: 'on-the-database',
  async run({ terminal, database, secrets, clock }, given) {
    const { isJson, words } = takeJson(given);
    const options = readKeyToRotate(words);
    if (options === null) return complainOfUsage(terminal, rotateKeyCommand);
    const { companyId, keyId } = options;
    const old = await findKey(database, companyId, keyId);
    if (old !== null && old.expiresAt !== null && options.expiresAt === undefined) {
      const until = old.expiresAt.toISOString();
      terminal.complain(
        `this key expires at ${until}: say when the new one does, with --expires MOMENT or never`,
      );
      return EXIT_FAILED;
    }
    const rotated = await database.transaction(async (transaction) => {
      // As in the backend: a removal of the payer revokes the new key, too.
      if (old !== null) await lockCompanyRow(transaction, companyId);
      return await rotateKey({ database: transaction, secrets, clock }, { ...options, createdBy: null });
    });
    switch (rotated.outcome) {
      case 'rotated':
        printNewKey(terminal, rotated, isJson);
        if (!isJson) terminal.print(`the old one works until: turnpike revoke-key ${companyId} ${keyId}`);
        return EXIT_OK;
      case 'invalid':
        terminal.complain(`${OPTION_OF[rotated.field] ?? rotated.field}: ${rotated.message}`);
        return EXIT_FAILED;
      case 'not-live':
        terminal.complain(`${keyId} is ${rotated.status.toLowerCase()}: create a new key instead`);
        return EXIT_FAILED;
      case 'no-such-key':
        return complainOfKey(terminal, companyId, keyId);
    }
  },
};

export const revokeKeyCommand: Command = {
  name: 'revoke-key',
  usage: 'COMPANY_ID KEY_ID',
  summary: 'Revokes a key: calls with it answer 401 from then on.',
  works: 'on-the-database',
  async run({ terminal, database, sharedState, clock }, [companyId, keyId, ...rest]) {
    if (companyId === undefined || keyId === undefined || rest.length > 0) {
      return complainOfUsage(terminal, revokeKeyCommand);
    }
    const revoked = await revokeKey({ database, sharedState, clock }, { companyId, keyId });
    if (revoked.outcome === 'no-such-key') return complainOfKey(terminal, companyId, keyId);
    await dropAnswersOfKeys(database, companyId, [keyId]);
    terminal.print(`${keyId} is revoked since ${revoked.key.revokedAt?.toISOString()}`);
    if (!revoked.announced) {
      terminal.print(
        'shared state is unavailable; the gateways notice the change themselves within a second',
      );
    }
    return EXIT_OK;
  },
};

const MINT_OPTIONS =
  '[--scopes a,b] [--models a,b] [--rpm N] [--tpm N] [--in-flight N] [--spending-limit CREDITS] [--payer MEMBER_EMAIL] [--expires 2031-12-31T23:00Z] [--stream-usage-chunk always|asked] [--project NAME] [--cache-ttl SECONDS] [--log-payloads] [--json]';

const OPTION_OF: Partial<Record<string, string>> = {
  name: 'NAME',
  scopes: '--scopes',
  models: '--models',
  requestsPerMinute: '--rpm',
  tokensPerMinute: '--tpm',
  maxCallsInFlight: '--in-flight',
  monthlySpendingLimit: '--spending-limit',
  monthlySpendingLimitMicro: '--spending-limit',
  expiresAt: '--expires',
  streamUsageChunk: '--stream-usage-chunk',
  project: '--project',
  cacheTtlSeconds: '--cache-ttl',
};

type Payer =
  | { readonly outcome: 'pays'; readonly userId: string | null }
  | { readonly outcome: 'no-such-payer' | 'payer-of-another-company' };

/** The company, or the member whose own balance pays; the balance is opened if it does not exist yet. */
async function payerOf(
  transaction: Transaction,
  { companyId, payer }: { readonly companyId: string; readonly payer: string | null },
): Promise<Payer> {
  if (payer === null) return { outcome: 'pays', userId: null };
  if (isId(companyId)) await lockCompanyRow(transaction, companyId);
  const user = await findUserByEmail(transaction, payer);
  if (user === null || user.companyId !== companyId) return { outcome: 'no-such-payer' };
  const isOpen = await openUserAccount(transaction, { userId: user.id, companyId });
  return isOpen ? { outcome: 'pays', userId: user.id } : { outcome: 'payer-of-another-company' };
}

/** Null if the arguments cannot be parsed; the domain validates the values. */
function readKeyToMint(
  words: readonly string[],
): (KeyToMint & { readonly payer: string | null }) | { readonly wrongCredits: string } | null {
  const option = { type: 'string' } as const;
  const options = {
    scopes: option,
    models: option,
    rpm: option,
    tpm: option,
    'in-flight': option,
    'spending-limit': option,
    payer: option,
    expires: option,
    'stream-usage-chunk': option,
    project: option,
    'cache-ttl': option,
    'log-payloads': { type: 'boolean' } as const,
  };
  const typed = readOptions(words, options, 2);
  if (typed === null) return null;
  const { values, positionals } = typed;
  const [companyId, name] = positionals;
  if (companyId === undefined || name === undefined) return null;
  const limit = values['spending-limit'];
  const monthlySpendingLimitMicro = limit === undefined ? null : microOfCredits(limit);
  if (limit !== undefined && monthlySpendingLimitMicro === null) return { wrongCredits: limit };
  return {
    companyId,
    name,
    createdBy: null,
    scopes: listIn(values.scopes),
    models: listIn(values.models),
    requestsPerMinute: numberIn(values.rpm),
    tokensPerMinute: numberIn(values.tpm),
    maxCallsInFlight: numberIn(values['in-flight']),
    monthlySpendingLimitMicro,
    payer: values.payer ?? null,
    expiresAt: values.expires === undefined ? null : momentIn(values.expires),
    streamUsageChunk: values['stream-usage-chunk']?.toUpperCase() ?? null,
    project: values.project ?? null,
    cacheTtlSeconds: numberIn(values['cache-ttl']),
    logPayloads: values['log-payloads'] ?? false,
  };
}

/** Null if the arguments are invalid; without --expires, the expiry is undefined. */
function readKeyToRotate(words: readonly string[]) {
  const typed = readOptions(words, { expires: { type: 'string' } }, 2);
  const [companyId, keyId] = typed?.positionals ?? [];
  if (typed === null || companyId === undefined || keyId === undefined) return null;
  const { expires } = typed.values;
  return { companyId, keyId, ...(expires === undefined ? {} : { expiresAt: expiryIn(expires) }) };
}

function expiryIn(text: string): Date | null {
  return text === 'never' ? null : momentIn(text);
}

function listIn(text: string | undefined): readonly string[] | null {
  if (text === undefined) return null;
  return text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

function numberIn(text: string | undefined): number | null {
  if (text === undefined) return null;
  return text.trim() === '' ? Number.NaN : Number(text);
}

function lineAbout(key: ApiKey, nowMs: number): string {
  const facts = [
    `scopes ${key.scopes.join(',')}`,
    `models ${key.models?.join(',') ?? 'all'}`,
    `${key.requestsPerMinute} RPM`,
    `${key.tokensPerMinute} TPM`,
    key.maxCallsInFlight === null ? null : `${key.maxCallsInFlight} in flight`,
    key.monthlySpendingLimitMicro === null
      ? null
      : `at most ${creditsOfMicro(key.monthlySpendingLimitMicro)} credits a month`,
    key.payerUserId === null ? null : `paid by user ${key.payerUserId}`,
    key.expiresAt === null ? null : `expires ${key.expiresAt.toISOString()}`,
    key.streamUsageChunk === null ? null : `usage chunk ${key.streamUsageChunk.toLowerCase()}`,
    key.project === null ? null : `project ${JSON.stringify(key.project)}`,
    key.cacheTtlSeconds === null ? null : `cached ${key.cacheTtlSeconds} s`,
    key.logPayloads ? 'prompts and answers stored' : null,
    `created ${key.createdAt.toISOString()}`,
    `last used ${key.lastUsedAt?.toISOString() ?? 'never'}`,
    key.rotatedFromId === null ? null : `rotated from ${key.rotatedFromId}`,
  ];
  const what = `${key.id} ${keyStatus(key, nowMs)} ${key.prefix}…${key.lastFour} ${JSON.stringify(key.name)}`;
  return `${what} (${facts.filter((fact) => fact !== null).join('; ')})`;
}

function shownKey(key: ApiKey, nowMs: number) {
  return { ...key, status: keyStatus(key, nowMs) };
}

interface NewKey {
  readonly key: ApiKey;
  readonly rawKey: string;
}

function printNewKey(terminal: Terminal, { key, rawKey }: NewKey, isJson: boolean): void {
  if (isJson) {
    printJson(terminal, { ...key, rawKey });
    return;
  }
  terminal.print(`${key.id} ${JSON.stringify(key.name)} of company ${key.companyId}`);
  terminal.print(`the key, shown only now: ${rawKey}`);
}

function complainOfKey(terminal: Terminal, companyId: string, keyId: string): number {
  terminal.complain(`company ${companyId} has no key ${keyId}: turnpike keys ${companyId} lists them`);
  return EXIT_FAILED;
}
