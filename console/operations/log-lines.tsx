import { objectIn } from '../parts/json.ts';
import { List } from '../parts/list.tsx';
import { type Mood, Tag } from '../parts/page.tsx';
import { exact } from '../parts/words.tsx';
import { graphql, type RowOf, type Variables } from '../session/graphql.ts';
import { usePages } from '../session/use-query.ts';

const LINES =
  graphql(`query($after: ID, $minLevel: LogLevel, $contains: String, $requestId: String, $service: String,
  $companyId: ID, $from: DateTime, $to: DateTime) {
  logEntries(first: 20, after: $after, minLevel: $minLevel, contains: $contains, requestId: $requestId,
    service: $service, companyId: $companyId, from: $from, to: $to) {
    nodes { timestamp level message context } pageInfo { hasNextPage endCursor } } }`);
export const LEVEL_MOODS: Record<Line['level'], Mood> = {
  DEBUG: 'plain',
  INFO: 'plain',
  WARN: 'warn',
  ERROR: 'bad',
};

type Line = RowOf<typeof LINES>;
export type LinesFilter = Omit<Variables<typeof LINES>, 'after'>;

/** Stored log lines, newest first. */
export function LogLines({ filter }: { filter: LinesFilter }) {
  const pages = usePages(LINES, filter);
  return (
    <List
      label="Lines of the log"
      rows={pages.nodes === null ? null : keyed(pages.nodes)}
      error={pages.error}
      retry={pages.reload}
      more={pages}
      keyOf={({ key }) => key}
      nothing="No such line"
      empty={<p>The log may not reach back that far.</p>}
      columns={[
        { name: 'When', show: ({ timestamp }) => <span className="number">{exact(timestamp)}</span> },
        { name: 'Level', show: ({ level }) => <Tag mood={LEVEL_MOODS[level]}>{level}</Tag> },
        {
          name: 'What',
          show: ({ message, context }) => (
            <>
              <div>{message}</div>
              {context !== null && <Context context={context} />}
            </>
          ),
        },
      ]}
    />
  );
}

/** By what they say: an opened line stays open when newer ones come above it. Two lines may be identical. */
function keyed(lines: readonly Line[]) {
  const times = new Map<string, number>();
  return lines.map((line) => {
    const said = `${line.timestamp} ${line.message} ${JSON.stringify(line.context)}`;
    const time = (times.get(said) ?? 0) + 1;
    times.set(said, time);
    return { ...line, key: `${said} ${time}` };
  });
}

/** The fields side by side. An error shows its message, and its stack on a click. */
function Context({ context }: { context: unknown }) {
  const fields = Object.entries(objectIn(context)).flatMap(([name, value]) => fieldsOf(name, value));
  const stack = fields.find(({ name }) => name === 'error stack');
  return (
    <>
      <div className="row small">
        {fields
          .filter((field) => field !== stack)
          .map(({ name, text }) => (
            <span key={name} className="said">
              <span className="quiet">{name}</span> <code>{text}</code>
            </span>
          ))}
      </div>
      {stack !== undefined && (
        <details>
          <summary>Where it happened</summary>
          <pre className="small">{stack.text}</pre>
        </details>
      )}
    </>
  );
}

function fieldsOf(name: string, value: unknown): readonly { name: string; text: string }[] {
  if (name === 'error' && typeof value === 'object' && value !== null) {
    return Object.entries(value).map(([inner, text]) => ({ name: `error ${inner}`, text: textOf(text) }));
  }
  return [{ name, text: textOf(value) }];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
