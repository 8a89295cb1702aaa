/**
 * What an error of PostgreSQL is about, by its SQLSTATE.
 *   statement   our statement, its values or our stored function: repeating it changes nothing
 *   object      what the statement uses is missing, forbidden or damaged: others may succeed
 *   conflict    another transaction won: repeating it may succeed
 *   time-out    it took too long
 *   server      everything else: the connection, the log-in, the server, its disk
 */
export type SqlStateCause = 'statement' | 'object' | 'conflict' | 'time-out' | 'server';

/**
 * By exclusion: only what these rows name is a fault of ours. A code that no row names is the server's, so that a refusal
 * nobody thought of leaves known keys in use.
 *
 * Every statement of ours has run on the schema that this process found at its start. So in class 42 a missing table,
 * column, function, type or unique index, or a missing privilege, is what an operator or a restore has changed since, and
 * only syntax and types are ours. The same holds for 0A000 and 42P05, which prepared statements get after a column was
 * altered or behind a pooler.
 */
const CAUSES: readonly (readonly [RegExp, SqlStateCause])[] = [
  [/^(25P03|25P04|55P03|57014)$/, 'time-out'],
  [/^(25006|40003)$/, 'server'],
  [/^40002$/, 'statement'],
  [/^40/, 'conflict'],
  [/^(0A000|3F000|42501|42P01|42P05|42P10|42703|42704|42883|54000|55000|55006)$/, 'object'],
  [/^(XX|26|HV)/, 'object'],
  [/^(03|09|0B|0F|0L|0P|0Z|20|21|22|23|24|25|27|2B|2D|2F|34|38|39|3B|42|44|54|55P04|P0)/, 'statement'],
];

export function causeOfSqlState(sqlState: string): SqlStateCause {
  return CAUSES.find(([codes]) => codes.test(sqlState))?.[1] ?? 'server';
}
