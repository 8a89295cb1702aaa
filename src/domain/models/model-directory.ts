import type { Clock } from '../../ports/clock.ts';
import type { Statements } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import { boundsOf, readBounds, type StoredBounds } from './alias-bounds.ts';
import { readAliases, routingOf, type StoredAlias } from './alias-catalogue.ts';
import { type Alias, type AliasKind, type AliasTarget, aliasOf } from './aliases.ts';
import type { Cipher } from './cipher.ts';
import { aliasToolsOf, readTools, type StoredTools } from './hosted-tools.ts';
import { type AliasPrice, readPrices } from './prices.ts';
import { createBelowCostReport } from './prices-below-cost.ts';
import { wireOf } from './providers.ts';
import { createWithoutTargetsReport } from './routing/fallbacks.ts';
import { createTargetFlights, type TargetFlights } from './routing/target-flights.ts';
import { createTargetLatency, type TargetLatency } from './routing/target-latency.ts';
import { createTargetOrder } from './routing/target-order.ts';
import type { StoredTarget } from './target.ts';
import { type Cooling, createTargetCooling } from './target-cooling.ts';
import { openTargetSecrets } from './target-secrets.ts';
import { MODELS_TOPIC, readCatalogue, readVersion } from './targets.ts';
import { watchVersion } from './watch-version.ts';

export interface ModelDirectoryParts extends OpeningParts {
  readonly database: Statements;
  readonly sharedState: SharedState;
  readonly clock: Clock;
}

interface OpeningParts {
  readonly cipher: Cipher;
  readonly log: Log;
  readonly prefix: string;
  /** False in production, where embedded models that only make up answers are not used. */
  readonly embeddedAllowed: boolean;
}

export interface ModelDirectory {
  /** Null unless this is exactly the name of an alias that is not retired. */
  find(alias: string): Alias | null;
  all(): readonly Alias[];
  /** The alias's targets in the order to try them; `draw` is a random number from 0 up to, not including, 1. */
  order(alias: Alias, draw: number, isStream?: boolean): readonly AliasTarget[];
  /** For targets of aliases that are routed by latency. */
  readonly latency: Pick<TargetLatency, 'note' | 'noteAtLeast'>;
  readonly flights: TargetFlights;
  noteFailure(targetId: string): void;
  noteSuccess(targetId: string): void;
  /** Notes that the provider limited or refused a target with this status. The target is tried last for a while. */
  cool(targetId: string, reason: string, waitMs: number | null): void;
  /** All targets that are cooling now, as shared between the processes. */
  cooling(): readonly CoolingTarget[];
  close(): Promise<void>;
}

export interface CoolingTarget extends Cooling {
  readonly alias: string;
  readonly target: AliasTarget;
}

/**
 * All aliases, their targets and prices in memory, so that a call needs no I/O. They are read again when a message
 * reports a change, when messages may have been lost, and when the version in the database has changed. While the
 * database is unavailable the last known catalogue stays in force: an outdated target fails with an error of its own,
 * whereas an empty catalogue would refuse every call.
 */
export async function createModelDirectory(parts: ModelDirectoryParts): Promise<ModelDirectory> {
  const { database, sharedState, clock, log } = parts;
  const cooling = await createTargetCooling({ clock, log, sharedState });
  const latency = createTargetLatency({ clock });
  const rest = createTargetOrder({ clock, cooling, latency });
  const flights = createTargetFlights();
  const reportBelowCost = createBelowCostReport(parts);
  const reportWithoutTargets = createWithoutTargetsReport(log);
  let catalogue: OpenedCatalogue = new Map();
  let aliases: readonly Alias[] = [];
  let isLoaded = false;

  async function load(): Promise<bigint> {
    const stored = await readCatalogue(database);
    // Read after the version: a change in between is read now, and again once the new version is seen.
    const prices = await readPrices(database);
    const bounds = await readBounds(database);
    const tools = await readTools(database);
    const named = await readAliases(database);
    catalogue = await openCatalogue(
      parts,
      { ...stored, prices, bounds, tools, named },
      isLoaded ? catalogue : null,
    );
    aliases = [...catalogue.values()];
    const targetIds = new Set(aliases.flatMap(({ targets }) => targets.map(({ id }) => id)));
    rest.keepOnly(targetIds);
    cooling.keepOnly(targetIds);
    latency.keepOnly(targetIds);
    reportBelowCost(aliases);
    reportWithoutTargets(aliases);
    isLoaded = true;
    return stored.version;
  }

  const watched = await watchVersion({
    ...{ clock, log, sharedState, topic: MODELS_TOPIC, what: 'the model catalogue' },
    readVersion: () => readVersion(database),
    load,
  }).catch(async (error: unknown) => {
    await cooling.close();
    throw error;
  });

  return {
    find: (alias) => catalogue.get(alias) ?? null,
    all: () => aliases,
    order: rest.order,
    latency,
    flights,
    noteFailure: rest.noteFailure,
    noteSuccess(targetId) {
      rest.noteSuccess(targetId);
      cooling.noteSuccess(targetId);
    },
    cool: cooling.cool,
    cooling: () =>
      aliases.flatMap(({ alias, targets }) =>
        targets.flatMap((target) => {
          const found = cooling.of(target.id);
          return found === null ? [] : { alias, target, ...found };
        }),
      ),
    async close() {
      await Promise.all([watched.close(), cooling.close()]);
    },
  };
}

/** The aliases by their full names: the documented ones in their order, then the others. */
type OpenedCatalogue = ReadonlyMap<string, Alias>;

/**
 * All aliases with their targets and prices, and with decrypted keys. If a key cannot be decrypted, the alias keeps its
 * previous targets, or at startup gets only those that can be. It never falls back to the embedded models: an operator
 * who configured a provider wants that provider or an error.
 */
async function openCatalogue(
  parts: OpeningParts,
  stored: {
    readonly targets: readonly StoredTarget[];
    readonly prices: readonly AliasPrice[];
    readonly bounds: readonly StoredBounds[];
    readonly tools: readonly StoredTools[];
    readonly named: readonly StoredAlias[];
  },
  before: OpenedCatalogue | null,
): Promise<OpenedCatalogue> {
  const opened = new Map<string, Alias>();
  for (const { name, kind, createdAt, retiredAt, ...routed } of stored.named) {
    if (retiredAt !== null) continue;
    const alias = aliasOf(parts.prefix, name);
    const own = stored.targets.filter((target) => target.alias === name);
    const prices = stored.prices.filter((price) => price.alias === name);
    const bounds = boundsOf(
      kind,
      stored.bounds.find((one) => one.alias === name),
    );
    const tools = aliasToolsOf(stored.tools.find((one) => one.alias === name));
    const routing = routingOf(parts.prefix, routed);
    const fee = routed.byokFeeMillionths === null ? {} : { byokFeeMillionths: routed.byokFeeMillionths };
    const { priceFactors } = routed;
    const facts = {
      alias,
      kind,
      createdAtMs: createdAt?.getTime() ?? null,
      prices,
      ...bounds,
      tools,
      routing,
      ...fee,
      ...(priceFactors === null ? {} : { priceFactors }),
    };
    const targets: AliasTarget[] = [];
    for (const target of own) {
      const usable = await openTarget(parts, facts, target);
      if (usable !== null) targets.push(usable);
    }
    const known = before?.get(alias);
    if (own.length === 0) opened.set(alias, { ...facts, targets: embeddedTarget(parts, alias, kind) });
    else if (targets.length < own.length && known !== undefined)
      opened.set(alias, { ...facts, targets: known.targets });
    else opened.set(alias, { ...facts, targets });
  }
  return opened;
}

async function openTarget(
  { cipher, log }: OpeningParts,
  { alias, maxOutputTokens, cacheBreakpoints }: Pick<Alias, 'alias' | 'maxOutputTokens' | 'cacheBreakpoints'>,
  target: StoredTarget,
): Promise<AliasTarget | null> {
  const { id, baseUrl, model, weight, provider, timeoutMs, idleTimeoutMs, maxInFlight, cost } = target;
  try {
    const { apiKey, headers } = await openTargetSecrets(cipher, target);
    const wire = wireOf({ ...target, headers }, maxOutputTokens);
    if (wire === null) {
      log.error('a model target cannot be used: its provider is unknown to this version', {
        alias,
        provider,
      });
      return null;
    }
    return {
      ...{ id, baseUrl, host: new URL(baseUrl).host, model, apiKey, weight, cost },
      wire: cacheBreakpoints ? wire : { ...wire, cacheBreakpoints },
      ...(timeoutMs === null ? {} : { timeoutMs }),
      ...(idleTimeoutMs === null ? {} : { idleTimeoutMs }),
      ...(maxInFlight === null ? {} : { maxInFlight }),
    };
  } catch (error) {
    log.error('a model target cannot be used: its key does not open', { alias, targetId: id, error });
    return null;
  }
}

/** The embedded engine actually extracts from texts, so extract aliases use it in production too. */
function embeddedTarget(
  { embeddedAllowed }: OpeningParts,
  alias: string,
  kind: AliasKind,
): readonly AliasTarget[] {
  if (!embeddedAllowed && kind !== 'extract') return [];
  return [{ id: 'embedded', baseUrl: null, model: alias, apiKey: null, weight: 1 }];
}
