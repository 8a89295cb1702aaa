import type { Database } from '../../ports/database.ts';
import { type AuditCheck, runCheck } from './audit-check.ts';
import { isLedgerSound } from './proofs/ledger-proof.ts';

const ENTRY_TEXT = `ledger_entry_text(amount_micro, (extract(epoch from created_at) * 1000000)::bigint, type, contra,
  source_kind, source_id, reason)`;

/**
 * Finds, for each account, the first group of transactions whose seal does not match the previous seal and the stored
 * transactions. If the end of the chain was removed, the last seal differs from the one stored with the account.
 */
export const sealsCheck: AuditCheck = {
  holds: 'every transaction is as it was sealed when it was posted, and none was removed or inserted',
  faults: `with sealed as (
      select account_id, seal_version, max(version) as last, min(version) as first,
        string_agg(${ENTRY_TEXT}, '' order by version) as entries,
        (array_agg(seal) filter (where version = seal_version))[1] as seal
      from (select posted.* from credit_transactions as posted join credit_accounts as account on account.id = account_id
        where posted.version > seals_from) as posted
      group by account_id, seal_version),
    chained as (
      select *, lag(seal) over (partition by account_id order by last) as before from sealed)
    select * from (
      select distinct on (account_id) case
        when seal_version is null then format('transaction %s of account %s has no seal: it was not posted by this system',
          first, account_id)
        else format('transactions %s to %s of account %s are not as they were sealed: one of them, or the one before, was changed, removed, inserted or moved',
          first, last, account_id) end
      from chained
      where seal_version is null or last <> seal_version
        or seal is distinct from ledger_seal(before, account_id, seal_version, entries)
      order by account_id, last) as broken
    union all
    select format('account %s notes another last seal than that of its transaction %s: transactions were removed at the end',
      account.id, coalesce(last.version::text, 'none'))
    from credit_accounts as account
    left join lateral (select version, seal from credit_transactions
      where account_id = account.id and version > seals_from order by version desc limit 1) as last on true
    where last.seal is distinct from account.last_seal`,
};

/**
 * Finds what does not match its seal by computing every seal again: a digest could have been changed together with its
 * transactions.
 */
export async function sealFaults(database: Database): Promise<readonly string[]> {
  const live = (await isLedgerSound(database, 'all')) ? [] : (await runCheck(database, sealsCheck)).faults;
  return [...live, ...(await runCheck(database, oldSealsCheck)).faults];
}

/** For transactions from before there were seals, which a job sealed a thousand at a time. */
export const oldSealsCheck: AuditCheck = {
  holds: 'every transaction from before there were seals is as it was when the job sealed it',
  faults: `with chunks as (
      select account_id, version, seal, lag(seal) over of_account as before,
        coalesce(lag(version) over of_account, 0) as after
      from old_ledger_seals window of_account as (partition by account_id order by version))
    select * from (
      select distinct on (chunk.account_id) format(
        'transactions %s to %s of account %s are not as they were sealed: one of them, or the one before, was changed, removed, inserted or moved',
        after + 1, chunk.version, chunk.account_id)
      from chunks as chunk
      where chunk.seal is distinct from ledger_seal(before, chunk.account_id, chunk.version, (
        select string_agg(${ENTRY_TEXT}, '' order by posted.version) from credit_transactions as posted
        where posted.account_id = chunk.account_id and posted.version > after and posted.version <= chunk.version))
      order by chunk.account_id, chunk.version) as broken
    union all
    select format('account %s has old seals up to transaction %s, and they end at %s', account.id, old_sealed_to,
      coalesce(last.version, 0))
    from credit_accounts as account
    left join (select account_id, max(version) as version from old_ledger_seals group by 1) as last
      on last.account_id = account.id
    where old_sealed_to <> coalesce(last.version, 0)`,
};
