import type { Statements } from '../../../ports/database.ts';
import { STORED_SUMS } from '../usage-checks.ts';
import { CALENDAR, calendarDays } from './calendar.ts';
import { drawWeightedSums, isNothing, summed, type WeightedSums } from './weighted-sums.ts';

const ALL_KEYS = "'00000000-0000-0000-0000-000000000000'";
const MONTH = 'calendar.month';
const dated = (table: string) => `${table} left join ${CALENDAR} on calendar.day = ${table}.day`;

interface MonthsProof {
  readonly months: boolean;
  readonly keys: boolean;
}

/** Sums of months beside the days that they are made of, in one statement and so of one moment. */
export async function proveMonths(statements: Statements): Promise<MonthsProof> {
  const [bounds] = await statements.query<{ spentFrom: string }>(
    `select coalesce(min(month), 'infinity')::text as "spentFrom" from key_months`,
  );
  const sums = await drawWeightedSums(statements);
  const [proof] = await statements.query<MonthsProof>(
    `select ${isNothing('days.sum - months.sum')} and ${isNothing('named_days.sum - named_months.sum')}
         and days.empty + months.empty + named_days.empty + named_months.empty = 0 as months,
       ${isNothing('days.spent - keys.sum')} as keys
     from ${keyParts(sums, bounds?.spentFrom ?? 'infinity')}, ${namedParts(sums)}`,
    [...calendarDays()],
  );
  if (proof === undefined) throw new Error('months could not be added up');
  return proof;
}

const done = (month: string, condition: string) =>
  `(company_id, ${month}) in (select company_id, month from usage_months_done where ${condition})`;
const EMPTY = 'count(*) filter (where calls = 0) as empty';
/** Sums by model have the first day of their month. */
const EMPTY_MONTHS = "count(*) filter (where calls = 0 or alias <> '' and day <> month) as empty";

function keyParts(sums: WeightedSums, spentFrom: string): string {
  const { weightOf, amountOf } = sums;
  const ofModel = (month: string) =>
    weightOf('months by model', [
      { text: 'alias' },
      { date: month },
      { uuid: 'company_id' },
      { uuid: 'key_id' },
    ]);
  const ofDay = (month: string, day: string) =>
    weightOf('months by day', [{ date: day }, { date: month }, { uuid: 'company_id' }, { uuid: 'key_id' }]);
  const ofKey = (month: string) => weightOf('keys', [{ uuid: 'key_id' }, { date: month }]);
  return `(select ${summed(`case when ${done(MONTH, 'true')} then ${amountOf(STORED_SUMS)}
          * (${ofModel(MONTH)} + ${ofDay(MONTH, 'usage_days.day')}) end`)} as sum,
        ${summed(`case when key_id <> ${ALL_KEYS} and charge_micro <> 0 and calendar.day >= '${spentFrom}'
          then ${amountOf(['charge_micro'])} * ${ofKey(MONTH)} end`)} as spent, ${EMPTY} from ${dated('usage_days')}) as days,
    (select ${summed(`${amountOf(STORED_SUMS)} * case when alias = '' then ${ofDay('month', 'day')} else ${ofModel('month')} end`)} as sum,
        ${EMPTY_MONTHS} from usage_months where ${done('month', 'true')}) as months,
    (select ${summed(`${amountOf(['charge_micro'])} * ${ofKey('month')}`)} as sum from key_months) as keys`;
}

function namedParts(sums: WeightedSums): string {
  const { weightOf, amountOf } = sums;
  const own = [{ uuid: 'company_id' }, { text: 'kind' }, { text: 'subject' }];
  const ofModel = (month: string, alias: string) =>
    weightOf('names by model', [...own, { date: month }, { text: alias }]);
  const ofDay = (month: string, day: string) =>
    weightOf('names by day', [...own, { date: month }, { date: day }]);
  const weights = [ofModel(MONTH, 'alias'), ofModel(MONTH, "'*'"), ofDay(MONTH, 'usage_subject_days.day')];
  return `(select ${summed(`case when ${done(MONTH, 'has_subjects')} then ${amountOf(STORED_SUMS)} * (${weights.join(' + ')}) end`)} as sum,
        ${EMPTY} from ${dated('usage_subject_days')}) as named_days,
    (select ${summed(`${amountOf(STORED_SUMS)} * case when alias = '' then ${ofDay('month', 'day')}
          else ${ofModel('month', 'alias')} end`)} as sum, ${EMPTY_MONTHS}
      from usage_subject_months where ${done('month', 'has_subjects')}) as named_months`;
}
