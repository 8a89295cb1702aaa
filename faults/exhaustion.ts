import type { FaultCase } from './frame/fault-case.ts';
import { attackSteadily, type ExhaustionAttack, exhaustionCase } from './frame/under-attack.ts';

/** Every type nine times, with the fields of its fields' types: without signing in, in less than a kilobyte. */
const NESTED_INTROSPECTION = `{__schema{types{${[...'abcdefghi']
  .map((alias) => `${alias}:fields{name args{name type{name}} type{name ofType{name fields{name}}}}`)
  .join(' ')}}}}`;

const attacks: readonly ExhaustionAttack[] = [
  {
    name: 'introspection',
    what: 'ten nested introspection queries a second, without signing in, beside calls of the gateway',
    begin: ({ demo }) =>
      attackSteadily(10, () => ({
        url: `${demo.backend_url}/graphql`,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query: NESTED_INTROSPECTION }),
      })),
  },
  {
    name: 'documents',
    what: 'long CVs, five a second, are read by the gateway’s parser beside calls of the gateway',
    begin: ({ demo }) =>
      attackSteadily(5, (number) => ({
        url: `${demo.gateway_url}/parse/cv`,
        headers: { authorization: `Bearer ${demo.full_key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ text: longCv(number) }),
      })),
  },
];

export const exhaustionFaults: readonly FaultCase[] = attacks.map(exhaustionCase);

function longCv(number: number): string {
  const entry = `Engineer at Company ${number}, 2015 to 2019\nBuilt payment systems with TypeScript and PostgreSQL.\n`;
  return `Ada Byron ${number}\nada${number}@example.com\nSkills: TypeScript, PostgreSQL, weaving\n${entry.repeat(1_000)}`;
}
