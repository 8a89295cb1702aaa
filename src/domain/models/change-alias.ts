import type { Transaction } from '../../ports/database.ts';
import { type AliasBoundsParams, checkBounds, deleteBounds, ensureBounds } from './alias-bounds.ts';
import {
  ALIAS_KINDS,
  type AliasRoutingParams,
  type CheckedRouting,
  checkRouting,
  ensureRouting,
  findAlias,
  insertAlias,
  MOST_ALIASES,
  NO_ROUTING,
  problemWithFallbacks,
  readAliases,
  type StoredAlias,
  UNRETIRE,
  writeRetirement,
} from './alias-catalogue.ts';
import { readAliasVersions } from './alias-version.ts';
import {
  type AliasKind,
  type AliasName,
  aliasOf,
  isDocumented,
  problemWithName,
  storedNameOf,
  type TokenPrice,
  unknownAlias,
} from './aliases.ts';
import { checkByokFee, ensureByokFee } from './byok-fee.ts';
import type { Cipher } from './cipher.ts';
import { type AliasToolsParams, checkTools, deleteTools, ensureTools } from './hosted-tools.ts';
import { ensurePrice, readPrices } from './prices.ts';
import { providerFacts, type StoredTarget, type TargetParams } from './target.ts';
import { openTargetSecrets, sealTargets } from './target-secrets.ts';
import { type CatalogueParts, changeCatalogue, checkTargets, replaceTargets } from './targets.ts';
import { checkPriceFactors, ensurePriceFactors, type FactorsByField } from './tiers/price-factors.ts';
import type { PriceFactors } from './tiers/tiers.ts';
import { checkPrice, isSamePrice, type TokenPriceParams } from './token-price.ts';

/** A requested alias: by command, by MODEL_CONFIG or by the console. Omitted fields stay unchanged. */
export interface AliasParams extends AliasBoundsParams, AliasRoutingParams {
  /** As clients write it. */
  readonly alias: string;
  readonly kind?: string | null | undefined;
  readonly targets?: readonly TargetParams[] | null | undefined;
  readonly price?: TokenPriceParams | null | undefined;
  readonly hostedTools?: AliasToolsParams | undefined;
  /** The price of calls with a company's own key, in percent of the alias's price. Null: own keys are not allowed. */
  readonly byokFeePercent?: number | null | undefined;
  /** Prices of the provider's tiers. Null: tiers that cost more are refused. */
  readonly priceFactors?: FactorsByField | null | undefined;
  /** The version that the change is based on (`alias-version.ts`). It is refused if the alias has changed since. */
  readonly ifVersion?: string | null | undefined;
}

/** The part that is wrong. */
type AliasField =
  | 'alias'
  | 'kind'
  | 'targets'
  | 'price'
  | 'bounds'
  | 'routing'
  | 'fallback'
  | 'hostedTools'
  | 'byokFeePercent'
  | 'priceFactors'
  | 'version';

interface WrongAlias {
  readonly outcome: 'wrong';
  readonly alias: string;
  readonly field: AliasField;
  /** For targets: the field and its target, for example `0.apiKey`. */
  readonly place?: string | null;
  readonly problem: string;
}

export interface CheckedAlias {
  readonly alias: string;
  readonly name: AliasName;
  readonly kind: AliasKind | null;
  /** Null if they stay unchanged. */
  readonly targets: readonly TargetParams[] | null;
  readonly price: TokenPrice | null;
  readonly bounds: AliasBoundsParams;
  readonly routing: CheckedRouting;
  readonly tools: Parameters<typeof ensureTools>[2];
  readonly byokFeeMillionths: number | null | undefined;
  readonly priceFactors: PriceFactors | null | undefined;
}

/** All checks that need no database. */
export function checkAlias(
  prefix: string,
  params: AliasParams,
): { readonly outcome: 'fine'; readonly alias: CheckedAlias } | WrongAlias {
  const { alias } = params;
  const wrong = (field: AliasField, problem: string): WrongAlias => {
    return { outcome: 'wrong', alias, field, problem };
  };
  const badName = problemWithName(prefix, alias);
  if (badName !== null) return wrong('alias', badName);
  const kind = ALIAS_KINDS.find((one) => one === params.kind) ?? null;
  if (params.kind != null && kind === null) return wrong('kind', `kind is ${ALIAS_KINDS.join(', ')}`);
  const aimed = checkTargets(params.targets ?? []);
  if (aimed.outcome === 'wrong') return wrong('targets', aimed.problem);
  const priced = params.price == null ? null : checkPrice(params.price);
  if (priced?.outcome === 'wrong') return wrong('price', priced.problem);
  const { contextLength, maxOutputTokens, enforceMaxOutput, cacheBreakpoints, drop } = params;
  const bounded = checkBounds({ contextLength, maxOutputTokens, enforceMaxOutput, cacheBreakpoints, drop });
  if (bounded.outcome === 'wrong') return wrong('bounds', bounded.problem);
  const routed = checkRouting(prefix, params);
  if (routed.outcome === 'wrong') return wrong('routing', routed.problem);
  const equipped = checkTools(params.hostedTools ?? {});
  if (equipped.outcome === 'wrong') return wrong('hostedTools', equipped.problem);
  const charged = checkByokFee(params.byokFeePercent);
  if (charged.outcome === 'wrong') return wrong('byokFeePercent', charged.problem);
  const factored = checkPriceFactors(params.priceFactors);
  if (factored.outcome === 'wrong') return wrong('priceFactors', factored.problem);
  return {
    outcome: 'fine',
    alias: {
      priceFactors: factored.factors,
      byokFeeMillionths: charged.millionths,
      ...{ alias, kind, name: storedNameOf(alias), bounds: bounded.bounds, routing: routed.routing },
      ...{ tools: equipped.tools, price: priced?.price ?? null },
      targets: params.targets == null ? null : aimed.targets,
    },
  };
}

type ChangedAlias = { readonly outcome: 'changed' | 'unchanged' } | WrongAlias;

/** Creates an alias, or restores a retired one of the same kind. */
export async function createAlias(parts: CatalogueParts, params: AliasParams): Promise<ChangedAlias> {
  return await changeOne(parts, params, 'create');
}

/** Omitted fields stay unchanged. */
export async function updateAlias(parts: CatalogueParts, params: AliasParams): Promise<ChangedAlias> {
  return await changeOne(parts, params, 'update');
}

const CHANGED_MEANWHILE =
  'the alias was changed since you opened it: load it again, look at the change, and repeat yours';

async function changeOne(
  parts: CatalogueParts,
  params: AliasParams,
  how: 'create' | 'update',
): Promise<ChangedAlias> {
  const checked = checkAlias(parts.prefix, params);
  if (checked.outcome === 'wrong') return checked;
  const { alias, ifVersion } = params;
  return await changeCatalogue(parts, async (transaction, stored): Promise<ChangedAlias> => {
    if (ifVersion != null) {
      const version = (await readAliasVersions(transaction, parts.secrets)).get(checked.alias.name);
      if (version !== ifVersion)
        return { outcome: 'wrong', alias, field: 'version', problem: CHANGED_MEANWHILE };
    }
    const written = await writeAliases({ parts, transaction, stored, aliases: [checked.alias], how });
    if (written.outcome === 'wrong') return written;
    return { outcome: written.changed.length > 0 ? 'changed' : 'unchanged' };
  });
}

type RetiredAlias =
  | { readonly outcome: 'changed' }
  | { readonly outcome: 'unknown-alias' | 'in-use'; readonly problem: string };

/**
 * Retires an alias: its calls are then refused like those of a model that the key may not call. Its provider keys are
 * deleted. Its prices are kept, so that past charges remain traceable.
 */
export async function retireAlias(
  parts: Pick<CatalogueParts, 'database' | 'sharedState' | 'prefix'>,
  alias: string,
): Promise<RetiredAlias> {
  return await changeCatalogue(parts, async (transaction): Promise<RetiredAlias> => {
    const found = await findAlias(transaction, parts.prefix, alias);
    if (found.outcome === 'unknown-alias') return found;
    const { name } = found.alias;
    if (isDocumented(name)) {
      const problem = `${alias} is one of the documented aliases, which cannot be retired: leave it out of the keys' lists instead`;
      return { outcome: 'in-use', problem };
    }
    const users = (await readAliases(transaction)).filter(
      ({ fallback, retiredAt }) => fallback === name && retiredAt === null,
    );
    if (users.length > 0) {
      const names = users.map((one) => aliasOf(parts.prefix, one.name)).join(', ');
      return { outcome: 'in-use', problem: `${alias} is the fallback of ${names}: change that first` };
    }
    await replaceTargets(transaction, name, []);
    await deleteBounds(transaction, name);
    await deleteTools(transaction, name);
    await ensureRouting(transaction, found.alias, NO_ROUTING);
    await ensureByokFee(transaction, found.alias, null);
    await ensurePriceFactors(transaction, found.alias, null);
    await writeRetirement(transaction, name);
    return { outcome: 'changed' };
  });
}

interface AliasesToWrite {
  readonly parts: CatalogueParts;
  readonly transaction: Transaction;
  /** The targets of all aliases. */
  readonly stored: readonly StoredTarget[];
  readonly aliases: readonly CheckedAlias[];
  readonly how: HowToWrite;
}

/** `apply` creates missing aliases and skips retired ones. */
type HowToWrite = 'create' | 'update' | 'apply';

type WrittenAliases =
  | {
      readonly outcome: 'written';
      /** As clients write them. */
      readonly changed: readonly string[];
      /** Skipped because they are retired. */
      readonly retired: readonly string[];
    }
  | WrongAlias;

interface AliasToWrite {
  readonly checked: CheckedAlias;
  /** The alias before the change. */
  readonly alias: StoredAlias;
  readonly isNew: boolean;
  /** Null if they stay unchanged. */
  readonly targets: readonly StoredTarget[] | null;
}

/** Only under the catalogue's lock. Everything is checked before anything is written. */
export async function writeAliases(given: AliasesToWrite): Promise<WrittenAliases> {
  const { parts, transaction, aliases } = given;
  const existing = new Map((await readAliases(transaction)).map((alias) => [alias.name, alias]));
  const priced = new Set((await readPrices(transaction)).map(({ alias }) => alias));
  const retired: string[] = [];
  const toWrite: AliasToWrite[] = [];
  for (const one of aliases) {
    const before = existing.get(one.name) ?? null;
    if (given.how === 'apply' && before !== null && before.retiredAt !== null) {
      retired.push(one.alias);
      continue;
    }
    const state = { before, how: given.how, isPriced: priced.has(one.name), prefix: parts.prefix };
    const problem = problemWithChange(one, state, existing);
    if (problem !== null) return { outcome: 'wrong', alias: one.alias, ...problem };
    const isNew = before === null || before.retiredAt !== null;
    const alias = before === null || isNew ? newAlias(one) : before;
    const sealed = await sealedTargets(parts, one, given.stored);
    if (sealed?.outcome === 'wrong') return { alias: one.alias, field: 'targets', ...sealed };
    existing.set(one.name, { ...alias, ...one.routing });
    toWrite.push({ checked: one, alias, isNew, targets: sealed?.targets ?? null });
  }
  const wrongFallback = problemWithFallbacks(parts.prefix, [...existing.values()]);
  if (wrongFallback !== null) {
    return { outcome: 'wrong', alias: aliases[0]?.alias ?? '', field: 'fallback', problem: wrongFallback };
  }
  // All new ones first: one may be the fallback of another.
  for (const { alias, isNew } of toWrite) if (isNew) await insertAlias(transaction, alias.name, alias.kind);
  const changed: string[] = [];
  for (const one of toWrite) if (await writeAlias(parts, transaction, one)) changed.push(one.checked.alias);
  return { outcome: 'written', changed, retired };
}

interface ChangeState {
  readonly before: StoredAlias | null;
  readonly how: HowToWrite;
  readonly isPriced: boolean;
  readonly prefix: string;
}

function problemWithChange(
  { alias, kind, price }: CheckedAlias,
  { before, how, isPriced, prefix }: ChangeState,
  aliases: ReadonlyMap<AliasName, StoredAlias>,
): Pick<WrongAlias, 'field' | 'problem'> | null {
  const isLive = before !== null && before.retiredAt === null;
  if (how === 'create' && isLive) return { field: 'alias', problem: `there is an alias ${alias} already` };
  if (how === 'update' && !isLive) {
    const own = [...aliases.values()].flatMap(({ name, retiredAt }) =>
      isDocumented(name) || retiredAt !== null ? [] : name,
    );
    const problem =
      before === null ? unknownAlias(prefix, alias, own) : `the alias ${alias} is retired: ${UNRETIRE}`;
    return { field: 'alias', problem };
  }
  if (before !== null && kind !== null && kind !== before.kind) {
    const problem = `${alias} is of the kind ${before.kind}, which cannot be changed: its calls are counted under that name`;
    return { field: 'kind', problem };
  }
  if (isLive) return null;
  if (kind === null) {
    const problem = `there is no alias ${alias}: to add it, give its kind (${ALIAS_KINDS.join(', ')}) and its price`;
    return { field: 'kind', problem };
  }
  if (price === null && !isPriced) return { field: 'price', problem: `the new alias ${alias} needs a price` };
  if (before === null && aliases.size >= MOST_ALIASES) {
    return { field: 'alias', problem: `there are at most ${MOST_ALIASES} aliases, retired ones included` };
  }
  return null;
}

function newAlias({ name, kind }: CheckedAlias): StoredAlias {
  return {
    name,
    kind: kind ?? 'chat',
    byokFeeMillionths: null,
    priceFactors: null,
    createdAt: null,
    retiredAt: null,
    ...NO_ROUTING,
  };
}

/** Null if they stay unchanged. */
async function sealedTargets(
  parts: CatalogueParts,
  { name, targets }: CheckedAlias,
  stored: readonly StoredTarget[],
): Promise<Awaited<ReturnType<typeof sealTargets>> | null> {
  const present = stored.filter((target) => target.alias === name);
  if (targets === null || (await isSame(parts.cipher, present, targets))) return null;
  return await sealTargets(parts, name, targets, present);
}

async function writeAlias(
  parts: CatalogueParts,
  transaction: Transaction,
  { checked, alias, isNew, targets }: AliasToWrite,
): Promise<boolean> {
  const { name, price, bounds, routing, tools } = checked;
  if (targets !== null) await replaceTargets(transaction, name, targets);
  const isPriced = price !== null && (await ensurePrice(transaction, parts.secrets, name, price));
  const isBounded = await ensureBounds(transaction, name, bounds);
  const isEquipped = await ensureTools(transaction, name, tools);
  const isRouted = await ensureRouting(transaction, alias, routing);
  const isCharged = await ensureByokFee(transaction, alias, checked.byokFeeMillionths);
  const isFactored = await ensurePriceFactors(transaction, alias, checked.priceFactors);
  const isChanged = isPriced || isBounded || isEquipped || isRouted || isCharged || isFactored;
  return isNew || targets !== null || isChanged;
}

async function isSame(
  cipher: Cipher,
  stored: readonly StoredTarget[],
  params: readonly TargetParams[],
): Promise<boolean> {
  if (stored.length !== params.length) return false;
  for (const [at, target] of params.entries()) {
    const present = stored[at];
    // A target that names a stored one inherits what it omits, so it is always written.
    if (present === undefined || target.id != null) return false;
    if (present.baseUrl !== target.baseUrl || present.model !== target.model) return false;
    if (present.weight !== (target.weight ?? 1) || !isSameLimits(present, target)) return false;
    const { provider, responses, apiVersion, headers } = providerFacts(target);
    if (present.provider !== provider || present.responses !== responses) return false;
    if (present.apiVersion !== apiVersion) return false;
    // If the stored secrets cannot be decrypted, the given ones replace them, under the current master key.
    const opened = await openTargetSecrets(cipher, present).catch(() => null);
    if (opened === null || opened.apiKey !== target.apiKey) return false;
    if (!isSameHeaders(opened.headers, headers)) return false;
  }
  return true;
}

const LIMITS = ['timeoutMs', 'idleTimeoutMs', 'maxInFlight'] as const;

function isSameLimits(stored: StoredTarget, params: TargetParams): boolean {
  if (LIMITS.some((limit) => stored[limit] !== (params[limit] ?? null))) return false;
  const priced = params.cost == null ? null : checkPrice(params.cost);
  if (priced?.outcome !== 'fine') return stored.cost === null;
  return stored.cost !== null && isSamePrice(stored.cost, priced.price);
}

function isSameHeaders(one: Readonly<Record<string, string>>, other: typeof one): boolean {
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  return names.every((name) => one[name] === other[name]);
}
