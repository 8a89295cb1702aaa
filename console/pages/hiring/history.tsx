import { List } from '../../parts/list.tsx';
import { Card } from '../../parts/page.tsx';
import { Moment } from '../../parts/words.tsx';

interface Version {
  readonly version: number;
  readonly what: string;
  readonly changedByEmail: string | null;
  readonly changedAt: string;
  /** The state after the change. */
  readonly after: unknown;
}

const WORDS: Readonly<Record<string, string>> = {
  created: 'Added',
  edited: 'Edited',
  closed: 'Closed',
  parsed: 'Read from its document',
  'parse-failed': 'Its document could not be read',
  'sent-again': 'Sent again',
  'newer-cv': 'A newer CV of the same person',
  separated: 'Another person was separated',
};
const MOST_CHANGES = 20;

interface Change {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/** Who changed what and when, newest first, each compared with the previous version. */
export function History({ versions, worker }: { versions: readonly Version[]; worker: string }) {
  const rows = versions.map((version, at) => ({
    ...version,
    changes: versions[at + 1] === undefined ? [] : changesBetween(versions[at + 1]?.after, version.after),
  }));
  return (
    <Card title="History">
      <List
        label="History"
        rows={rows}
        keyOf={({ version }) => String(version)}
        empty={null}
        columns={[
          { name: 'When', show: ({ changedAt }) => <Moment at={changedAt} /> },
          { name: 'Who', show: ({ changedByEmail }) => changedByEmail ?? worker },
          { name: 'What', show: ({ what }) => WORDS[what] ?? what },
          { name: 'Changes', show: ({ changes }) => <Changes changes={changes} /> },
        ]}
      />
    </Card>
  );
}

function Changes({ changes }: { changes: readonly Change[] }) {
  if (changes.length === 0) return null;
  const [one] = changes;
  return (
    <details>
      <summary>{changes.length === 1 ? one?.name : `${changes.length} values`}</summary>
      <ul className="points small">
        {changes.slice(0, MOST_CHANGES).map(({ name, before, after }) => (
          <li key={name}>
            <strong>{name}:</strong> {before === '' ? 'nothing' : <del>{before}</del>} →{' '}
            {after === '' ? 'nothing' : <ins>{after}</ins>}
          </li>
        ))}
        {changes.length > MOST_CHANGES && <li>and {changes.length - MOST_CHANGES} more</li>}
      </ul>
    </details>
  );
}

function changesBetween(older: unknown, newer: unknown): readonly Change[] {
  const [before, after] = [new Map(leavesOf(older, '')), new Map(leavesOf(newer, ''))];
  const names = [...new Set([...before.keys(), ...after.keys()])];
  return names.flatMap((name) => {
    const [was, is] = [before.get(name) ?? '', after.get(name) ?? ''];
    return was === is ? [] : [{ name, before: short(was), after: short(is) }];
  });
}

/** Every value with a readable name: work[0].startDate becomes “Work 1, start date”. */
function* leavesOf(value: unknown, name: string): Iterable<[string, string]> {
  if (value === null || value === undefined || value === '') return;
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) {
    yield [name, value.join(', ')];
    return;
  }
  if (typeof value !== 'object') {
    yield [name, value === true ? 'yes' : value === false ? 'no' : String(value)];
    return;
  }
  for (const [step, inside] of Object.entries(value)) {
    const word = Array.isArray(value) ? String(Number(step) + 1) : wordsOf(step);
    const glue = Array.isArray(value) ? ' ' : ', ';
    yield* leavesOf(inside, name === '' ? capital(word) : `${name}${glue}${word}`);
  }
}

const wordsOf = (name: string) =>
  name
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase();
const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
const short = (text: string) => (text.length > 200 ? `${text.slice(0, 200)}…` : text);
