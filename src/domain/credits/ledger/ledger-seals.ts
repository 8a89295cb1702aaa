import type { Database, Statements } from '../../../ports/database.ts';

/**
 * The newest seal of an account, for an operator to store elsewhere: no transaction up to it can then be changed
 * unnoticed.
 */
export interface LedgerHead {
  readonly accountId: string;
  readonly version: bigint;
  /** In hex. */
  readonly seal: string;
}

const HEADS_AT_ONCE = 1_000;

/** The newest seal of every account that has a sealed transaction, by account id. */
export async function* ledgerHeads(database: Database): AsyncGenerator<LedgerHead> {
  let after: string | null = null;
  for (;;) {
    const heads: readonly LedgerHead[] = await database.query<LedgerHead>(
      `select account.id as "accountId", coalesce(live.version, old.version) as version,
         encode(coalesce(live.seal, old.seal), 'hex') as seal
       from credit_accounts as account
       left join lateral (select version, seal from credit_transactions
         where account_id = account.id and version > seals_from and seal is not null
         order by version desc limit 1) as live on true
       left join lateral (select version, seal from old_ledger_seals
         where account_id = account.id order by version desc limit 1) as old on true
       where ($1::uuid is null or account.id > $1) and coalesce(live.version, old.version) is not null
       order by account.id limit ${HEADS_AT_ONCE}`,
      [after],
    );
    yield* heads;
    if (heads.length < HEADS_AT_ONCE) return;
    after = heads.at(-1)?.accountId ?? null;
  }
}

/** Those of the heads that the ledger no longer has, with the seal in their place; null for none. */
export async function lostHeads(
  statements: Statements,
  heads: readonly LedgerHead[],
): Promise<readonly (LedgerHead & { readonly found: string | null })[]> {
  return await statements.query(
    `select head.id as "accountId", head.version, head.seal, encode(coalesce(live.seal, old.seal), 'hex') as found
     from unnest($1::uuid[], $2::bigint[], $3::text[]) as head (id, version, seal)
     left join credit_transactions as live on live.account_id = head.id and live.version = head.version
     left join old_ledger_seals as old on old.account_id = head.id and old.version = head.version
     where encode(coalesce(live.seal, old.seal), 'hex') is distinct from head.seal
     order by 1`,
    [
      heads.map(({ accountId }) => accountId),
      heads.map(({ version }) => version.toString()),
      heads.map(({ seal }) => seal),
    ],
  );
}

const OLD_AT_ONCE = 1_000;

/**
 * Seals transactions that are older than the seals, a thousand of one account at a time, each batch in its own
 * transaction. It may run at any time, concurrently, and be killed at any point. Returns the number of seals.
 */
export async function sealOldTransactions(
  { database }: { readonly database: Database },
  signal?: AbortSignal,
): Promise<number> {
  for (let made = 0; ; made += 1) {
    signal?.throwIfAborted();
    if (!(await sealNext(database))) return made;
  }
}

/** False if none is left. Locks in a statement of its own first, so that the next one sees the previous seal. */
async function sealNext(database: Database): Promise<boolean> {
  return await database.transaction(async (transaction) => {
    const [account] = await transaction.query<{ id: string }>(
      `select id from credit_accounts where old_sealed_to < seals_from
         and exists (select 1 from credit_transactions
           where account_id = credit_accounts.id and version > old_sealed_to and version <= seals_from)
       order by id limit 1 for update skip locked`,
    );
    if (account === undefined) return false;
    await transaction.query(SEAL_NEXT, [account.id]);
    return true;
  });
}

const SEAL_NEXT = `with chosen as (
    select posted.account_id as id, posted.* from credit_accounts as account, lateral (
      select * from credit_transactions where account_id = account.id and version > old_sealed_to and version <= seals_from
      order by version limit ${OLD_AT_ONCE}) as posted
    where account.id = $1),
  sealed as (
    insert into old_ledger_seals (account_id, version, seal)
    select id, max(version), ledger_seal((select seal from old_ledger_seals as before
        where before.account_id = chosen.id order by version desc limit 1), id, max(version),
      string_agg(ledger_entry_text(amount_micro, (extract(epoch from created_at) * 1000000)::bigint, type, contra, source_kind,
        source_id, reason), '' order by version))
    from chosen group by id returning account_id, version)
  update credit_accounts set old_sealed_to = sealed.version from sealed where id = sealed.account_id`;
