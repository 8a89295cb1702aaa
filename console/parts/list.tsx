import { type ReactNode, useState } from 'react';
import { Act } from './dialog.tsx';
import { Bones, Empty, Notice, Problem } from './page.tsx';
import { RowName, useButtonName } from './row-name.tsx';
import { count, exact } from './words.tsx';

export interface Column<Row> {
  readonly name: string;
  readonly isNumber?: boolean;
  show(row: Row): ReactNode;
}

interface ListProps<Row> {
  readonly label: string;
  readonly rows: readonly Row[] | null;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  /** The name of a row, used in the names of its buttons. */
  readonly nameOf?: (row: Row) => string;
  readonly empty: ReactNode;
  /** The title of an empty list. */
  readonly nothing?: string;
  readonly error?: Error | null;
  readonly retry?: () => unknown;
  /** The rows belong to an earlier filter: they are shown, but cannot be used, until the new ones arrive. */
  readonly isStale?: boolean;
  readonly more?: {
    readonly hasMore: boolean;
    readonly isBusy: boolean;
    readonly isStale: boolean;
    more(): unknown;
  };
}

/** Of a list that is loaded as a whole, such as the usage of 10,000 end users: more at once would block the page. */
const ROWS_AT_ONCE = 500;

/** A table, or in its place a loading state, an empty state or an error. */
export function List<Row>(props: ListProps<Row>) {
  const {
    label,
    rows,
    columns,
    keyOf,
    nameOf,
    empty,
    nothing = 'Nothing here yet',
    error = null,
    retry,
    more,
    isStale = more?.isStale === true,
  } = props;
  const [most, setMost] = useState(ROWS_AT_ONCE);
  // An empty list that cannot be loaded again is not known to be empty: “No errors” during an outage would be wrong.
  if (error !== null && (rows === null || rows.length === 0 || isStale)) {
    return <Problem error={error} {...(retry === undefined ? {} : { retry })} />;
  }
  if (rows === null || (isStale && rows.length === 0)) return <Bones />;
  if (rows.length === 0) return <Empty title={nothing}>{empty}</Empty>;
  return (
    <>
      <Problem error={error} />
      <Table
        {...{ label, columns, keyOf, nameOf, isStale }}
        rows={more === undefined ? rows.slice(0, most) : rows}
      />
      {more === undefined && rows.length > most && (
        <div className="row">
          <button type="button" onClick={() => setMost(most + ROWS_AT_ONCE)}>
            Show more
          </button>
          <span className="quiet small">
            {count(most)} of {count(rows.length)} rows are shown.
          </span>
        </div>
      )}
      {more?.hasMore === true && (
        <div>
          <button
            type="button"
            aria-disabled={more.isBusy || isStale}
            onClick={() => more.isBusy || isStale || void more.more()}
          >
            {more.isBusy ? 'Loading…' : 'Show more'}
          </button>
        </div>
      )}
    </>
  );
}

type TableProps<Row> = Pick<ListProps<Row>, 'label' | 'columns' | 'keyOf'> & {
  readonly rows: readonly Row[];
  readonly nameOf: ListProps<Row>['nameOf'] | undefined;
  readonly isStale: boolean;
};

function Table<Row>({ label, rows, columns, keyOf, nameOf, isStale }: TableProps<Row>) {
  const classOf = ({ name, isNumber = false }: Column<Row>) =>
    isNumber ? 'number right' : name === 'Actions' ? 'actions' : undefined;
  return (
    <section
      className="scroller"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      aria-label={`Table: ${label}`}
      aria-busy={isStale}
      inert={isStale}
    >
      <table className="list">
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" className={classOf(column)}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <RowName key={keyOf(row)} value={nameOf?.(row) ?? ''}>
              <tr>
                {columns.map((column) => (
                  <td key={column.name} className={classOf(column)} data-name={column.name}>
                    <div>{column.show(row)}</div>
                  </td>
                ))}
              </tr>
            </RowName>
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface Searched {
  readonly nodes: readonly unknown[] | null;
  readonly searchedUntil: string | null;
  readonly isStale: boolean;
  more(): unknown;
}

/**
 * Below a list whose pages each search a limited number of rows: how far back the search went, and a way to continue.
 */
export function SearchedUntil({ pages }: { pages: Searched }) {
  if (pages.searchedUntil === null || pages.isStale) return null;
  return (
    <Notice>
      Few match: searched back to {exact(pages.searchedUntil)}.
      {pages.nodes?.length === 0 && (
        <>
          {' '}
          <Act name="Search further back" work={async () => pages.more()} />
        </>
      )}
    </Notice>
  );
}

/** A small button in a row. */
export function RowButton(props: { onClick(): void; children: string; isDanger?: boolean }) {
  const { onClick, children, isDanger = false } = props;
  return (
    <button
      type="button"
      className={isDanger ? 'little danger' : 'little'}
      onClick={onClick}
      {...useButtonName(children)}
    >
      {children}
    </button>
  );
}

/** A cell without a value: a placeholder in a table, omitted on a narrow screen. */
export function Nil({ text = '—' }: { text?: string }) {
  return <span className="nil">{text}</span>;
}

export function Amount({ of }: { of: number }) {
  return of === 0 ? <Nil text="0" /> : count(of);
}
