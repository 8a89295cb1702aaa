import type { Database, Statements, Transaction } from '../../ports/database.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import { findAlias } from './alias-catalogue.ts';
import type { AliasName, TokenPrice } from './aliases.ts';
import type { Cipher, CipherFailure } from './cipher.ts';
import { problemWithProvider } from './providers.ts';
import { providerFacts, type StoredTarget, type TargetParams } from './target.ts';
import { openTargetSecrets, sealTargetSecrets, sealTargets } from './target-secrets.ts';
import { checkPrice } from './token-price.ts';

/** Published after a change of the catalogue: caches read it again. */
export const MODELS_TOPIC = 'models';

export interface CatalogueParts {
  readonly database: Database;
  readonly sharedState: SharedState;
  readonly secrets: Secrets;
  readonly cipher: Cipher;
  /** The part of the documented aliases before the slash. */
  readonly prefix: string;
}

type ChangedTargets =
  | { readonly outcome: 'changed' }
  | { readonly outcome: 'unknown-alias' | 'wrong-target'; readonly problem: string };

/** Replaces the alias's targets with these, in this order. Without any, it uses the embedded models if they are allowed. */
export async function setAliasTargets(
  parts: CatalogueParts,
  alias: string,
  params: readonly TargetParams[],
): Promise<ChangedTargets> {
  return await changeTargets(parts, alias, () => [], params);
}

/** Adds a target after the existing ones, whose keys stay unchanged. */
export async function addAliasTarget(
  parts: CatalogueParts,
  alias: string,
  params: TargetParams,
): Promise<ChangedTargets> {
  return await changeTargets(parts, alias, (stored) => stored, [params]);
}

interface Resealed {
  readonly outcome: 'changed' | 'nothing-to-do';
  readonly resealed: number;
  /** Encrypted under a master key that this process does not have: left unchanged, and unusable for their aliases. */
  readonly unreadable: readonly { readonly baseUrl: string; readonly alias: AliasName }[];
}

/**
 * Encrypts all provider keys again under the first master key, so that the others can be retired. The services may keep
 * running: until the commit they read the old values, afterwards the new ones, and they can decrypt both.
 */
export async function resealTargets(
  parts: Pick<CatalogueParts, 'database' | 'sharedState' | 'cipher'>,
): Promise<Resealed> {
  const { cipher } = parts;
  return await changeCatalogue(parts, async (transaction, stored): Promise<Resealed> => {
    const unreadable: { baseUrl: string; alias: AliasName }[] = [];
    let resealed = 0;
    for (const target of stored) {
      const { id, alias, baseUrl, sealedKey, sealedHeaders } = target;
      if (sealedKey === null && sealedHeaders === null) continue;
      const opened = await openTargetSecrets(cipher, target).catch((error: CipherFailure) => {
        if (error.name !== 'CipherFailure') throw error;
        return null;
      });
      if (opened === null) {
        unreadable.push({ baseUrl, alias });
        continue;
      }
      const sealed = await sealTargetSecrets(cipher, baseUrl, opened);
      await transaction.query('update model_targets set sealed_key = $2, sealed_headers = $3 where id = $1', [
        ...[id, sealed.sealedKey, sealed.sealedHeaders],
      ]);
      resealed += 1;
    }
    return { outcome: resealed > 0 ? 'changed' : 'nothing-to-do', resealed, unreadable };
  });
}

/** Compares and writes under the catalogue's lock. A change is published to all processes after the commit. */
export async function changeCatalogue<Outcome extends { readonly outcome: string }>(
  { database, sharedState }: Pick<CatalogueParts, 'database' | 'sharedState'>,
  change: (transaction: Transaction, stored: readonly StoredTarget[]) => Promise<Outcome>,
): Promise<Outcome> {
  const result = await database.transaction(async (transaction) => {
    await lockCatalogue(transaction);
    const { targets } = await readCatalogue(transaction);
    return await change(transaction, targets);
  });
  if (result.outcome !== 'changed') return result;
  // The change is effective even if this message is lost: the others check the version twice a second.
  await sharedState.publish(MODELS_TOPIC, result.outcome).catch(() => {});
  return result;
}

export const MOST_TARGETS = 32;
export const TOO_MANY_TARGETS = `an alias has at most ${MOST_TARGETS} targets`;
const LONGEST_URL = 2_000;
const LONGEST_MODEL = 200;
const LONGEST_KEY = 4_096;
const GREATEST_WEIGHT = 1_000_000;
/** The database enforces the same limits. */
const LONGEST_TIMEOUT_MS = 3_600_000;
const WITHIN_AN_HOUR = `must be a whole number from 1 to ${LONGEST_TIMEOUT_MS}: a time-out is at most an hour`;
const MOST_IN_FLIGHT = 100_000;

type CheckedTargets =
  | { readonly outcome: 'fine'; readonly targets: readonly TargetParams[] }
  /** Names the problem and the target, without any value that could be a key. */
  | { readonly outcome: 'wrong'; readonly problem: string };

/** What is wrong with a target, and with which of its fields. */
interface TargetFault {
  readonly field: keyof TargetParams;
  readonly problem: string;
}

/** Null if the target can be stored. */
export function faultOf(target: TargetParams): TargetFault | null {
  const baseUrl = plainAddress(target.baseUrl);
  return baseUrl === null ? { field: 'baseUrl', problem: BAD_ADDRESS } : problemWith({ ...target, baseUrl });
}

/** Normalises addresses and removes a slash at their end: `/chat/completions` is appended to them. */
export function checkTargets(params: readonly TargetParams[]): CheckedTargets {
  if (params.length > MOST_TARGETS) return { outcome: 'wrong', problem: TOO_MANY_TARGETS };
  const targets: TargetParams[] = [];
  for (const [at, target] of params.entries()) {
    const fault = faultOf(target);
    if (fault !== null) return { outcome: 'wrong', problem: `target ${at + 1}: ${fault.problem}` };
    targets.push({ ...target, baseUrl: plainAddress(target.baseUrl) ?? target.baseUrl });
  }
  return { outcome: 'fine', targets };
}

interface StoredCatalogue {
  readonly version: bigint;
  /** In the order in which an alias lists them. */
  readonly targets: readonly StoredTarget[];
}

type CatalogueRow = { readonly version: bigint } & (
  | (Omit<StoredTarget, 'cost'> & { readonly [Part in keyof TokenPrice]: bigint | null })
  | { readonly id: null }
);

/** Uses one statement, so that the targets match the version. */
export async function readCatalogue(statements: Statements): Promise<StoredCatalogue> {
  const rows = await statements.query<CatalogueRow>(
    `select version, id, alias, base_url as "baseUrl", model, sealed_key as "sealedKey", weight, provider, responses,
       api_version as "apiVersion", sealed_headers as "sealedHeaders", timeout_ms as "timeoutMs",
       idle_timeout_ms as "idleTimeoutMs", max_in_flight as "maxInFlight", cost_prompt_micro as "promptMicro", cost_cached_micro as "cachedMicro",
       cost_completion_micro as "completionMicro", cost_cache_write_micro as "cacheWriteMicro"
     from model_catalogue left join model_targets on true order by alias, position`,
  );
  const [first] = rows;
  if (first === undefined) throw new Error('model_catalogue has lost its row: insert version 1 again');
  return { version: first.version, targets: rows.flatMap((row) => (row.id === null ? [] : targetOf(row))) };
}

function targetOf(row: Exclude<CatalogueRow, { id: null }>): StoredTarget {
  const { version: _, promptMicro, cachedMicro, completionMicro, cacheWriteMicro, ...target } = row;
  if (promptMicro == null || cachedMicro == null || completionMicro == null) return { ...target, cost: null };
  return { ...target, cost: { promptMicro, cachedMicro, completionMicro, cacheWriteMicro } };
}

/** Reads one row by its only key: every process runs this twice a second. */
export async function readVersion(statements: Statements): Promise<bigint | null> {
  const rows = await statements.query<{ version: bigint }>('select version from model_catalogue', [], {
    isIndependent: true,
  });
  return rows[0]?.version ?? null;
}

/** Triggers increase the version with each statement. */
export async function replaceTargets(
  transaction: Transaction,
  alias: AliasName,
  targets: readonly StoredTarget[],
): Promise<void> {
  await transaction.query('delete from model_targets where alias = $1', [alias]);
  for (const [position, target] of targets.entries()) {
    const { id, baseUrl, model, sealedKey, weight, provider, responses, apiVersion, sealedHeaders } = target;
    const { timeoutMs, idleTimeoutMs, maxInFlight, cost } = target;
    await transaction.query(
      `insert into model_targets (id, alias, position, base_url, model, sealed_key, weight, provider, responses,
         api_version, sealed_headers, timeout_ms, max_in_flight, cost_prompt_micro, cost_cached_micro,
         cost_completion_micro, cost_cache_write_micro, idle_timeout_ms)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
      [
        ...[id, alias, position, baseUrl, model, sealedKey, weight],
        ...[provider, responses, apiVersion, sealedHeaders, timeoutMs, maxInFlight],
        ...[cost?.promptMicro ?? null, cost?.cachedMicro ?? null, cost?.completionMicro ?? null],
        cost?.cacheWriteMicro ?? null,
        idleTimeoutMs,
      ],
    );
  }
}

async function changeTargets(
  parts: CatalogueParts,
  alias: string,
  kept: (stored: readonly StoredTarget[]) => readonly StoredTarget[],
  params: readonly TargetParams[],
): Promise<ChangedTargets> {
  const checked = checkTargets(params);
  if (checked.outcome === 'wrong') return { outcome: 'wrong-target', problem: checked.problem };
  return await changeCatalogue(parts, async (transaction, stored): Promise<ChangedTargets> => {
    const found = await findAlias(transaction, parts.prefix, alias);
    if (found.outcome === 'unknown-alias') return found;
    const { name } = found.alias;
    const own = stored.filter((target) => target.alias === name);
    const sealed = await sealTargets(parts, name, checked.targets, own);
    if (sealed.outcome === 'wrong') return { outcome: 'wrong-target', problem: sealed.problem };
    const targets = [...kept(own), ...sealed.targets];
    if (targets.length > MOST_TARGETS) return { outcome: 'wrong-target', problem: TOO_MANY_TARGETS };
    await replaceTargets(transaction, name, targets);
    return { outcome: 'changed' };
  });
}

const BAD_ADDRESS =
  'its address must begin with http:// or https:// and have no user name, no password, no ?, no #, no comma and no space';

/**
 * A password in an address would reach logs, and no path could be appended after a ? or #. A comma or a space indicates
 * a list typed into one field, which would parse as a path. Fails closed: whatever is doubtful is refused.
 */
function plainAddress(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return null;
  if (url.hostname === '' || url.username !== '' || url.password !== '') return null;
  if (/[?#,\s]/.test(text.trim())) return null;
  const plain = url.href.replace(/\/+$/, '');
  return plain.length <= LONGEST_URL ? plain : null;
}

function problemWith(target: TargetParams): TargetFault | null {
  const { model, apiKey, weight } = target;
  const fault = (field: TargetFault['field'], problem: string): TargetFault => ({ field, problem });
  if (model.trim() === '' || model.length > LONGEST_MODEL || model.includes(',')) {
    const problem = `its model must have 1 to ${LONGEST_MODEL} characters and no comma: one target has one model`;
    return fault('model', problem);
  }
  // A header allows nothing else, and a line break at the end of a key is a common mistake with files.
  if (apiKey !== null && (apiKey.length > LONGEST_KEY || !/^[\x21-\x7e]+$/.test(apiKey))) {
    return fault('apiKey', `its key must be 1 to ${LONGEST_KEY} visible ASCII characters`);
  }
  if (weight !== null && !(weight > 0 && weight <= GREATEST_WEIGHT)) {
    return fault('weight', `its weight must be above 0 and at most ${GREATEST_WEIGHT}`);
  }
  return (
    problemWithLimits(target) ?? problemWithProvider({ ...providerFacts(target), baseUrl: target.baseUrl })
  );
}

function problemWithLimits({
  timeoutMs,
  idleTimeoutMs,
  maxInFlight,
  cost,
}: TargetParams): TargetFault | null {
  if (timeoutMs != null && !isWhole(timeoutMs, LONGEST_TIMEOUT_MS)) {
    return { field: 'timeoutMs', problem: `its timeout_ms ${WITHIN_AN_HOUR}` };
  }
  if (idleTimeoutMs != null && !isWhole(idleTimeoutMs, LONGEST_TIMEOUT_MS)) {
    return { field: 'idleTimeoutMs', problem: `its idle_timeout_ms ${WITHIN_AN_HOUR}` };
  }
  if (maxInFlight != null && !isWhole(maxInFlight, MOST_IN_FLIGHT)) {
    const problem = `its max_in_flight must be a whole number from 1 to ${MOST_IN_FLIGHT}`;
    return { field: 'maxInFlight', problem };
  }
  const priced = cost == null ? null : checkPrice(cost);
  return priced?.outcome === 'wrong' ? { field: 'cost', problem: `its cost: ${priced.problem}` } : null;
}

function isWhole(value: number, most: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= most;
}

/** Serialises changes of the catalogue, so that comparing and writing are one step. */
async function lockCatalogue(transaction: Transaction): Promise<void> {
  await transaction.query('select version from model_catalogue for update');
}
