import type { Clock } from '../../ports/clock.ts';
import type { Statements } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import type { Alias, AliasTarget, OwnKeyUse, TargetStates } from '../models/aliases.ts';
import { aliasOf } from '../models/aliases.ts';
import type { Cipher } from '../models/cipher.ts';
import { createTargetFlights } from '../models/routing/target-flights.ts';
import { createTargetLatency } from '../models/routing/target-latency.ts';
import { createTargetOrder } from '../models/routing/target-order.ts';
import { coolingMs } from '../models/target-cooling.ts';
import { watchVersion } from '../models/watch-version.ts';
import { originOf } from './own-key-places.ts';
import {
  OWN_KEYS_TOPIC,
  openOwnKey,
  readOwnKeys,
  readOwnKeysVersion,
  type SealedOwnKey,
} from './own-keys.ts';

interface OwnKeyDirectoryParts {
  readonly database: Statements;
  readonly sharedState: SharedState;
  readonly clock: Clock;
  readonly log: Log;
  readonly cipher: Cipher;
  readonly prefix: string;
}

/** The provider keys that companies have stored, decrypted and in memory, so that a call waits for nothing. */
export interface OwnKeyDirectory {
  /**
   * The alias as called by the company. If the company has stored a key for it, the targets use the company's keys and
   * targets without one are omitted: nothing of the operator's is used. For every other company it is the alias itself,
   * found with one map lookup.
   */
  aliasFor(companyId: string, alias: Alias): Alias;
  close(): Promise<void>;
}

/** What a company has stored for one alias, and the alias that was last built from it. */
interface OwnAlias {
  /** By origin; null if the key cannot be decrypted. */
  readonly keys: ReadonlyMap<string, string | null>;
  readonly states: OwnStates;
  madeOf: Alias | null;
  made: Alias | null;
}

type CompanyAliases = Map<string, OwnAlias>;

export async function createOwnKeyDirectory(parts: OwnKeyDirectoryParts): Promise<OwnKeyDirectory> {
  const { database, sharedState, clock, log } = parts;
  let companies = new Map<string, CompanyAliases>();
  let opened = new Map<string, OpenedKey>();

  async function load(): Promise<bigint> {
    const { version, keys } = await readOwnKeys(database);
    const now = new Map<string, OpenedKey>();
    for (const key of keys) {
      const before = opened.get(key.id);
      now.set(key.id, before !== undefined && isSame(before, key) ? before : await open(parts, key));
    }
    companies = byCompany(parts, [...now.values()], companies);
    opened = now;
    return version;
  }

  const watched = await watchVersion({
    ...{ clock, log, sharedState, topic: OWN_KEYS_TOPIC, what: 'the list of companies’ own provider keys' },
    readVersion: () => readOwnKeysVersion(database),
    load,
  });

  return {
    aliasFor(companyId, alias) {
      const own = companies.get(companyId)?.get(alias.alias);
      if (own === undefined) return alias;
      // The catalogue creates a new alias with every change; until then the last result is reused.
      if (own.made === null || own.madeOf !== alias) {
        own.made = aliasWith(alias, own);
        own.madeOf = alias;
      }
      return own.made;
    },
    close: watched.close,
  };
}

/** The charged share if the alias has no fee. */
const WHOLE = 1_000_000;

function aliasWith(alias: Alias, { keys, states }: Pick<OwnAlias, 'keys' | 'states'>): Alias {
  const share = alias.byokFeeMillionths ?? null;
  const targets = share === null ? [] : alias.targets.flatMap((target) => withOwnKey(target, keys));
  states.keepOnly(new Set(targets.map(({ id }) => id)));
  const ownKey = { chargeShareMillionths: share ?? WHOLE, states, problem: problemOf(share, targets, keys) };
  return { ...alias, targets, ownKey };
}

function problemOf(
  share: number | null,
  targets: readonly AliasTarget[],
  keys: OwnAlias['keys'],
): OwnKeyUse['problem'] {
  if (share === null) return 'not-allowed';
  if (targets.length > 0) return null;
  return [...keys.values()].includes(null) ? 'unreadable' : 'no-key-for-provider';
}

/** Drops extra headers, which are the operator's: they may be secret, or name the operator's account at the provider. */
function withOwnKey(target: AliasTarget, keys: OwnAlias['keys']): readonly AliasTarget[] {
  const apiKey = target.baseUrl === null ? null : (keys.get(originOf(target.baseUrl)) ?? null);
  if (apiKey === null) return [];
  const { wire } = target;
  return [{ ...target, apiKey, ...(wire === undefined ? {} : { wire: { ...wire, headers: {} } }) }];
}

interface OpenedKey extends SealedOwnKey {
  readonly apiKey: string | null;
}

async function open({ cipher, log }: OwnKeyDirectoryParts, key: SealedOwnKey): Promise<OpenedKey> {
  try {
    return { ...key, apiKey: await openOwnKey(cipher, key) };
  } catch (error) {
    const { id: ownKeyId, companyId } = key;
    log.error('a company’s own provider key cannot be used: it does not open', {
      ownKeyId,
      companyId,
      error,
    });
    return { ...key, apiKey: null };
  }
}

/** Compares everything: a row that was moved to another company in the database must be decrypted again, which fails. */
function isSame(one: SealedOwnKey, other: SealedOwnKey): boolean {
  if (one.companyId !== other.companyId || one.alias !== other.alias || one.origin !== other.origin)
    return false;
  const [bytes, others] = [one.sealedKey, other.sealedKey];
  return bytes.length === others.length && bytes.every((byte, at) => byte === others[at]);
}

function byCompany(
  { clock, prefix }: Pick<OwnKeyDirectoryParts, 'clock' | 'prefix'>,
  keys: readonly OpenedKey[],
  before: ReadonlyMap<string, CompanyAliases>,
): Map<string, CompanyAliases> {
  const companies = new Map<string, CompanyAliases>();
  for (const { companyId, alias: name, origin, apiKey } of keys) {
    const alias = aliasOf(prefix, name);
    const own = companies.get(companyId) ?? new Map<string, OwnAlias>();
    companies.set(companyId, own);
    const known = own.get(alias);
    const states = known?.states ?? before.get(companyId)?.get(alias)?.states ?? createOwnStates(clock);
    own.set(alias, {
      keys: new Map([...(known?.keys ?? []), [origin, apiKey]]),
      states,
      madeOf: null,
      made: null,
    });
  }
  return companies;
}

interface OwnStates extends TargetStates {
  keepOnly(targetIds: ReadonlySet<string>): void;
}

/**
 * What this process has seen of the targets with one company's keys. A refused or limited key changes the order of that
 * company's targets only, not of the operator's targets or those of other companies.
 */
function createOwnStates(clock: Pick<Clock, 'now' | 'uptimeMs'>): OwnStates {
  const coolUntil = new Map<string, number>();
  const cooling = { isEmpty: () => coolUntil.size === 0, untilMs: (id: string) => coolUntil.get(id) ?? 0 };
  const latency = createTargetLatency({ clock });
  const rest = createTargetOrder({ clock, cooling, latency });
  return {
    order: rest.order,
    latency,
    flights: createTargetFlights(),
    noteFailure: rest.noteFailure,
    noteSuccess(targetId) {
      rest.noteSuccess(targetId);
      if (cooling.untilMs(targetId) <= clock.now()) coolUntil.delete(targetId);
    },
    cool(targetId, reason, waitMs) {
      coolUntil.set(targetId, clock.now() + coolingMs(reason, waitMs));
    },
    keepOnly(targetIds) {
      rest.keepOnly(targetIds);
      latency.keepOnly(targetIds);
      for (const id of coolUntil.keys()) if (!targetIds.has(id)) coolUntil.delete(id);
    },
  };
}
