import type { FinishedCall } from '../../src/domain/calls/settlement/finished-call.ts';
import type { Posting } from '../../src/domain/credits/ledger/ledger.ts';
import { type PriceVersion, priceOf, storedNameOf } from '../../src/domain/models/aliases.ts';

interface ModelAccount {
  balanceMicro: bigint;
  version: bigint;
  /** What was posted, by its source. */
  readonly posted: Map<string, bigint>;
}

interface ModelUsage {
  calls: bigint;
  failures: bigint;
  charge: bigint;
}

/** The books as they ought to be, in a few lines of plain arithmetic: what the simulation compares with. */
export interface ModelBooks {
  readonly accounts: ReadonlyMap<string, ModelAccount>;
  /** By the call's id: what it cost. */
  readonly charges: ReadonlyMap<string, bigint>;
  readonly usage: ReadonlyMap<string, ModelUsage>;
  readonly spending: ReadonlyMap<string, bigint>;
  post(posting: Posting): void;
  charge(calls: readonly FinishedCall[]): void;
  /** In the order of their moments. */
  setPrice(model: string, price: PriceVersion): void;
  changeLine(accountId: string): void;
}

export function createModelBooks(
  accountIds: readonly string[],
  prices: Map<string, PriceVersion[]>,
): ModelBooks {
  const accounts = new Map<string, ModelAccount>(
    accountIds.map((id) => [id, { balanceMicro: 0n, version: 0n, posted: new Map() }]),
  );
  const sources = new Set<string>();
  const charges = new Map<string, bigint>();
  const usage = new Map<string, ModelUsage>();
  const spending = new Map<string, bigint>();

  function accountOf(id: string): ModelAccount {
    const account = accounts.get(id);
    if (account === undefined) throw new Error(`the simulation has no account ${id}`);
    return account;
  }
  function move(accountId: string, source: string, amountMicro: bigint): void {
    const account = accountOf(accountId);
    sources.add(source);
    account.posted.set(source, amountMicro);
    account.balanceMicro += amountMicro;
    account.version += 1n;
  }
  function costOf({ outcome, tokens, alias, startedAtMs }: FinishedCall): bigint {
    if (outcome !== 'SUCCEEDED' || tokens === null || alias === null) return 0n;
    const versions = prices.get(storedNameOf(alias)) ?? [];
    const price = versions.findLast(({ inForceFromMs }) => inForceFromMs <= startedAtMs);
    if (price === undefined) throw new Error(`the simulation has no price of ${alias}`);
    return priceOf(price, tokens);
  }
  function count(place: string, call: FinishedCall, charge: bigint): void {
    const sums = usage.get(place) ?? { calls: 0n, failures: 0n, charge: 0n };
    sums.calls += 1n;
    if (call.outcome === 'FAILED') sums.failures += 1n;
    sums.charge += charge;
    usage.set(place, sums);
  }

  return {
    accounts,
    charges,
    usage,
    spending,
    post({ accountId, sourceKind, sourceId, amountMicro }) {
      const source = `${sourceKind} ${sourceId}`;
      if (!sources.has(source)) move(accountId, source, amountMicro);
    },
    charge(calls) {
      for (const call of calls) {
        if (charges.has(call.id)) continue;
        const charge = costOf(call);
        charges.set(call.id, charge);
        if (charge !== 0n) move(call.companyId, `call ${call.id}`, -charge);
        const date = new Date(call.startedAtMs).toISOString();
        count(`${call.companyId} all ${date.slice(0, 10)} ${call.alias}`, call, charge);
        if (call.keyId === null) continue;
        count(`${call.companyId} ${call.keyId} ${date.slice(0, 10)} ${call.alias}`, call, charge);
        if (call.monthlyLimitMicro === null || charge === 0n) continue;
        const month = `${call.keyId} ${date.slice(0, 7)}`;
        spending.set(month, (spending.get(month) ?? 0n) + charge);
      }
    },
    setPrice(model, price) {
      prices.set(model, [...(prices.get(model) ?? []), price]);
    },
    changeLine(accountId) {
      accountOf(accountId).version += 1n;
    },
  };
}
