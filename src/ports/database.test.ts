import { expect, test } from 'bun:test';
import {
  causeOfSqlState,
  type DatabaseFailure,
  isDatabaseUnavailable,
  isOfOneStatement,
  reasonOfSqlState,
  type SqlStateCause,
} from './database.ts';

/** Appendix A of PostgreSQL's manual: each class, what its codes are about, its codes, and those about something else. */
const CLASSES: readonly (readonly [string, SqlStateCause, string, Record<string, SqlStateCause>?])[] = [
  // successful completion
  ['00', 'server', '000'],
  // warning
  ['01', 'server', '000 003 004 006 007 008 00C P01'],
  // no data
  ['02', 'server', '000 001'],
  // SQL statement not yet complete
  ['03', 'statement', '000'],
  // connection exception
  ['08', 'server', '000 001 003 004 006 007 P01'],
  // triggered action exception
  ['09', 'statement', '000'],
  // feature not supported
  ['0A', 'object', '000'],
  // invalid transaction initiation
  ['0B', 'statement', '000'],
  // locator exception
  ['0F', 'statement', '000 001'],
  // invalid grantor
  ['0L', 'statement', '000 P01'],
  // invalid role specification
  ['0P', 'statement', '000'],
  // diagnostics exception
  ['0Z', 'statement', '000 002'],
  // case not found
  ['20', 'statement', '000'],
  // cardinality violation
  ['21', 'statement', '000'],
  // data exception
  [
    '22',
    'statement',
    '000 001 002 003 004 005 007 008 009 00B 00C 00D 00F 00G 00H 00L 00M 00N 00S 00T 010 011 012 013 014 015 016 018 019 01B 01E 01F 01G 01W 01X 021 022 023 024 025 026 027 02E 02G 02H 030 031 032 033 034 035 036 037 038 039 03A 03B 03C 03D 03E 03F 03G P01 P02 P03 P04 P05 P06',
  ],
  // integrity constraint violation
  ['23', 'statement', '000 001 502 503 505 514 P01'],
  // invalid cursor state
  ['24', 'statement', '000'],
  // invalid transaction state
  [
    '25',
    'statement',
    '000 001 002 003 004 005 006 007 008 P01 P02 P03 P04',
    { '006': 'server', P03: 'time-out', P04: 'time-out' },
  ],
  // invalid SQL statement name
  ['26', 'object', '000'],
  // triggered data change violation
  ['27', 'statement', '000'],
  // invalid authorization specification
  ['28', 'server', '000 P01'],
  // dependent privilege descriptors still exist
  ['2B', 'statement', '000 P01'],
  // invalid transaction termination
  ['2D', 'statement', '000'],
  // SQL routine exception
  ['2F', 'statement', '000 002 003 004 005'],
  // invalid cursor name
  ['34', 'statement', '000'],
  // external routine exception
  ['38', 'statement', '000 001 002 003 004'],
  // external routine invocation exception
  ['39', 'statement', '000 001 004 P01 P02 P03'],
  // savepoint exception
  ['3B', 'statement', '000 001'],
  // invalid catalog name
  ['3D', 'server', '000'],
  // invalid schema name
  ['3F', 'object', '000'],
  // transaction rollback
  ['40', 'conflict', '000 001 002 003 P01', { '002': 'statement', '003': 'server' }],
  // syntax error or access rule violation
  [
    '42',
    'statement',
    '000 501 601 602 611 622 701 702 703 704 710 712 723 725 803 804 809 830 846 883 8C9 939 P01 P02 P03 P04 P05 P06 P07 P08 P09 P10 P11 P12 P13 P14 P15 P16 P17 P18 P19 P20 P21 P22',
    {
      '501': 'object',
      '703': 'object',
      '704': 'object',
      '883': 'object',
      P01: 'object',
      P05: 'object',
      P10: 'object',
    },
  ],
  // WITH CHECK OPTION violation
  ['44', 'statement', '000'],
  // insufficient resources
  ['53', 'server', '000 100 200 300 400'],
  // program limit exceeded
  ['54', 'statement', '000 001 011 023', { '000': 'object' }],
  // object not in prerequisite state
  [
    '55',
    'server',
    '000 006 P02 P03 P04',
    { '000': 'object', '006': 'object', P03: 'time-out', P04: 'statement' },
  ],
  // operator intervention
  ['57', 'server', '000 014 P01 P02 P03 P04 P05', { '014': 'time-out' }],
  // system error
  ['58', 'server', '000 030 P01 P02'],
  // snapshot failure
  ['72', 'server', '000'],
  // configuration file error
  ['F0', 'server', '000 001'],
  // foreign data wrapper error
  [
    'HV',
    'object',
    '000 001 002 004 005 006 007 008 009 00A 00B 00C 00D 00J 00K 00L 00M 00N 00P 00Q 00R 010 014 021 024 090 091',
  ],
  // PL/pgSQL error
  ['P0', 'statement', '000 001 002 003 004'],
  // internal error
  ['XX', 'object', '000 001 002'],
];

const CODES = CLASSES.flatMap(([name, cause, codes, others = {}]) =>
  codes.split(' ').map((code) => ({ sqlState: `${name}${code}`, cause: others[code] ?? cause })),
);

function failureWith(sqlState: string): DatabaseFailure {
  const fields = { name: 'DatabaseFailure' as const, reason: reasonOfSqlState(sqlState), constraint: null };
  return Object.assign(new Error(sqlState), { ...fields, sqlState });
}

test('every SQLSTATE of PostgreSQL is our fault or means that the database is unavailable', () => {
  for (const { sqlState, cause } of CODES) {
    const failure = failureWith(sqlState);
    expect([sqlState, causeOfSqlState(sqlState)]).toEqual([sqlState, cause]);
    expect([sqlState, isDatabaseUnavailable(failure)]).toEqual([sqlState, cause !== 'statement']);
    const isOfOne = cause === 'object' || (cause === 'statement' && !sqlState.startsWith('25'));
    expect([sqlState, isOfOneStatement(failure)]).toEqual([sqlState, isOfOne]);
  }
});

test('a code that no release of PostgreSQL has yet means that the database is unavailable', () => {
  for (const sqlState of ['99999', '53999', 'ZZ001', '', 'P1000'])
    expect(isDatabaseUnavailable(failureWith(sqlState))).toBe(true);
  expect(isDatabaseUnavailable(new TypeError('a fault of ours'))).toBe(false);
});
