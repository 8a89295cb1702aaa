import type { Statements } from '../../../ports/database.ts';

/**
 * Compares stored sums with the rows that they are computed from, without grouping the rows. Each group has a weight, a
 * hash of its names, and each column a factor. The stored sums times weights and factors, modulo a prime, give one
 * number, and so do the rows: equal sets give equal numbers. Different sets give equal numbers by chance in one of 2^28
 * runs. Every run draws its own seed and factors, so that no change can be made to fit.
 */
export interface WeightedSums {
  /** A bigint expression for the hash of names. `after` is the hash of the names that precede them. */
  hashOf(names: readonly Name[], after?: string): string;
  /**
   * A bigint expression for the weight of a group. `after` is the hash of its first names. Each `domain` has its own
   * weights.
   */
  weightOf(domain: string, names: readonly Name[], after?: string): string;
  /** A bigint expression, below the prime, for the columns of a row, each a bigint expression; `1` counts the row. */
  amountOf(columns: readonly string[], plain?: Plain): string;
}

/** The form of most rows: all columns are non-negative and below the prime, so that no remainder is needed. */
interface Plain {
  readonly when: string;
  readonly columns: readonly string[];
}

/** A part of a group's name: an SQL expression, keyed by its type. */
type Name = Readonly<Partial<Record<keyof typeof HASHES, string>>>;

export const PRIME = 2_147_483_647;
/** 29 bits: the sum of four weights times a value fits into a bigint. */
const WEIGHT_MASK = 536_870_911;
/** 28 bits: the sum of eight values times their factors fits into a bigint. */
const FACTOR_MASK = 268_435_455n;
const MOST_COLUMNS = 8;

const HASHES = {
  uuid: (expression: string, seed: string) => `uuid_hash_extended(${expression}, ${seed})`,
  text: (expression: string, seed: string) => `hashtextextended((${expression}) collate "C", ${seed})`,
  date: (expression: string, seed: string) =>
    `hashint4extended((${expression}) - date '2000-01-01', ${seed})`,
};

/** Drawn by the database, with 48 random bits each. */
const DRAWN = `select ('x' || substr(replace(gen_random_uuid()::text, '-', ''), 1, 12))::bit(48)::bigint as drawn
  from generate_series(0, ${MOST_COLUMNS})`;

export async function drawWeightedSums(statements: Statements): Promise<WeightedSums> {
  const [seed, ...rest] = await statements.query<{ drawn: bigint }>(DRAWN);
  if (seed === undefined || rest.length < MOST_COLUMNS) throw new Error('no random numbers could be drawn');
  const factors = rest.map(({ drawn }) => drawn & FACTOR_MASK);
  const seedOf = (domain: string) => HASHES.text(`'${domain}'`, `${seed.drawn}`);
  const hashOf = (names: readonly Name[], after = `${seed.drawn}`) => {
    let hash = after;
    for (const name of names) {
      for (const type of ['uuid', 'text', 'date'] as const) {
        const expression = name[type];
        if (expression !== undefined) hash = HASHES[type](expression, hash);
      }
    }
    return hash;
  };
  const sumOf = (columns: readonly string[], termOf: (column: string) => string) =>
    columns
      .map((column, index) =>
        column === '1' ? `${factors[index]}` : `${factors[index]} * ${termOf(column)}`,
      )
      .join(' + ');
  return {
    hashOf,
    weightOf(domain, names, after) {
      const from = after === undefined ? seedOf(domain) : `(${after} # ${seedOf(domain)})`;
      return `(${hashOf(names, from)} & ${WEIGHT_MASK})`;
    },
    amountOf(columns, plain) {
      if (columns.length > MOST_COLUMNS) throw new RangeError(`at most ${MOST_COLUMNS} columns`);
      const reduced = sumOf(columns, (column) => `(${column} % ${PRIME})`);
      if (plain === undefined) return `((${reduced}) % ${PRIME})`;
      return `((case when ${plain.when} then ${sumOf(plain.columns, (column) => column)} else ${reduced} end) % ${PRIME})`;
    },
  };
}

/** True only if all of these columns are non-negative and below the prime: one comparison instead of a remainder for each. */
export const areSmall = (columns: readonly string[]) => `(${columns.join(' | ')}) between 0 and ${PRIME - 1}`;

/** Aggregates an expression of weights and values over all rows of a select into one number. */
export const summed = (expression: string) => `mod(coalesce(sum(${expression}), 0), ${PRIME})`;

/** Whether a sum of these numbers is zero modulo the prime. */
export const isNothing = (sum: string) => `mod(${sum}, ${PRIME}) = 0`;
