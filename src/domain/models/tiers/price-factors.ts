import type { Transaction } from '../../../ports/database.ts';
import type { StoredAlias } from '../alias-catalogue.ts';
import { AUDIO, FACTOR_FIELDS, HOUR, MOST_PRICE_FACTOR, type PriceFactors, WHOLE_PRICE } from './tiers.ts';

const MOST_VALUES = 20;
const VALUE = /^[A-Za-z0-9][\w.-]{0,39}$/;
const TOKENS = /^[1-9]\d{0,8}$/;

/** As operators write them: by field and value; 2 is twice the price. */
export type FactorsByField = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** If a value is listed twice, the last factor counts. */
export function factorsByField(all: readonly ShownFactor[]): FactorsByField {
  const fields: Record<string, Record<string, number>> = {};
  for (const { field, value, factor } of all) {
    const own = Object.hasOwn(fields, field) ? fields[field] : {};
    fields[field] = { ...own, [value]: factor };
  }
  return fields;
}

type CheckedFactors =
  | { readonly outcome: 'fine'; readonly factors: PriceFactors | null | undefined }
  | { readonly outcome: 'wrong'; readonly problem: string };

export function checkPriceFactors(params: FactorsByField | null | undefined): CheckedFactors {
  if (params == null) return { outcome: 'fine', factors: params };
  const wrong = (problem: string): CheckedFactors => ({ outcome: 'wrong', problem });
  const factors: Record<string, Record<string, number>> = {};
  for (const [field, given] of Object.entries(params)) {
    if (!FACTOR_FIELDS.some((one) => one === field)) {
      return wrong(`price factors are given for ${FACTOR_FIELDS.join(', ')}`);
    }
    const entries = Object.entries(given);
    if (entries.length > MOST_VALUES || entries.some(([value]) => !VALUE.test(value))) {
      return wrong(
        `${field} has at most ${MOST_VALUES} values with price factors, each of 1 to 40 letters, digits and . _ -`,
      );
    }
    const own = entries.map(([value, factor]) => [value, millionthsOf(factor)] as const);
    if (own.some(([, millionths]) => millionths === null)) {
      return wrong(`a price factor is a number from 0 to ${MOST_PRICE_FACTOR} with at most 6 decimals`);
    }
    const problem = problemWith(field, own as readonly (readonly [string, number])[]);
    if (problem !== null) return wrong(problem);
    if (own.length > 0) factors[field] = Object.fromEntries(own) as Record<string, number>;
  }
  const { prompt_tokens: long = {}, long_prompt_completion: answers = {} } = factors;
  if (Object.keys(answers).some((above) => !Object.hasOwn(long, above))) {
    return wrong(
      'long_prompt_completion has price factors only for numbers of tokens that prompt_tokens has',
    );
  }
  return { outcome: 'fine', factors: Object.keys(factors).length === 0 ? null : (factors as PriceFactors) };
}

function problemWith(field: string, own: readonly (readonly [string, number])[]): string | null {
  const isByTokens = field === 'prompt_tokens' || field === 'long_prompt_completion';
  if (isByTokens && own.some(([value]) => !TOKENS.test(value))) {
    return `price factors of ${field} are given by a number of tokens, such as 200000`;
  }
  if (field === 'modalities' && own.some(([value]) => value !== AUDIO)) {
    return `modalities has one price factor, for ${AUDIO}`;
  }
  if (field === 'cache_write' && own.some(([value, factor]) => value !== HOUR || factor < WHOLE_PRICE)) {
    return `cache_write has one price factor, for ${HOUR}, from 1 to ${MOST_PRICE_FACTOR}`;
  }
  return null;
}

function millionthsOf(factor: number): number | null {
  const millionths = Math.round(factor * WHOLE_PRICE);
  const isExact = Math.abs(factor * WHOLE_PRICE - millionths) < 1e-3;
  return factor >= 0 && factor <= MOST_PRICE_FACTOR && isExact ? millionths : null;
}

export interface ShownFactor {
  readonly field: string;
  readonly value: string;
  readonly factor: number;
}

export function shownFactors(factors: PriceFactors | null): readonly ShownFactor[] {
  return FACTOR_FIELDS.flatMap((field) =>
    Object.entries(factors?.[field] ?? {}).map(([value, millionths]) => {
      return { field, value, factor: millionths / WHOLE_PRICE };
    }),
  );
}

export function factorsInWords(factors: readonly ShownFactor[]): string {
  return factors.map(({ field, value, factor }) => `${field}=${value} ${factor}`).join(', ');
}

/** Writes nothing if nothing differs. Only under the catalogue's lock. */
export async function ensurePriceFactors(
  transaction: Transaction,
  { name, kind, priceFactors }: Pick<StoredAlias, 'name' | 'kind' | 'priceFactors'>,
  factors: PriceFactors | null | undefined,
): Promise<boolean> {
  if (factors === undefined || inOrder(factors) === inOrder(priceFactors)) return false;
  await transaction.query(
    `insert into model_aliases (alias, kind, price_factors) values ($1, $2, $3::text::jsonb)
     on conflict (alias) do update set price_factors = excluded.price_factors`,
    [name, kind, factors === null ? null : JSON.stringify(factors)],
  );
  return true;
}

function inOrder(factors: PriceFactors | null): string {
  const all = shownFactors(factors).map(({ field, value, factor }) => `${field}=${value}:${factor}`);
  return all.sort().join();
}
