import { isId } from '../../domain/keys/api-key.ts';
import { badInput } from './errors.ts';
import type { Builder, SchemaObjects } from './schema-builder.ts';

/** What every connection resolves to. */
export interface Page<Node> {
  readonly nodes: readonly Node[];
  readonly hasNextPage: boolean;
  readonly endCursor: string | null;
}

export interface PageWish {
  readonly limit: number;
  /** The cursor of the last row of the page before; opaque to clients. */
  readonly after: string | null;
}

export const LONGEST_PAGE = 100;
const USUAL_PAGE = 20;
const LONGEST_CURSOR = 200;

/** Reads `first` and `after`: 20 rows unless told, never more than 100. */
export function pageWish(args: {
  readonly first?: number | null | undefined;
  readonly after?: string | number | null | undefined;
}): PageWish {
  const limit = args.first ?? USUAL_PAGE;
  if (limit < 1 || limit > LONGEST_PAGE)
    throw badInput('first', `a number from 1 to ${LONGEST_PAGE} is needed`);
  const after = args.after == null || args.after === '' ? null : String(args.after);
  if (after !== null && (after.length > LONGEST_CURSOR || !/^[\w.:+-]+$/.test(after))) {
    throw badInput('after', 'this is no cursor: give the endCursor of a page');
  }
  return { limit, after };
}

/** The cursor of a list that is numbered; null begins at its beginning. */
export function numberCursor(after: string | null): bigint | null {
  if (after === null) return null;
  if (!/^\d{1,18}$/.test(after)) throw badInput('after', 'this is no cursor: give the endCursor of a page');
  return BigInt(after);
}

/** The cursor of a list that is ordered by ids that grow with time. */
export function idCursor(after: string | null): string | null {
  if (after !== null && !isId(after))
    throw badInput('after', 'this is no cursor: give the endCursor of a page');
  return after;
}

/** Makes a page of rows that were asked for with `limit + 1`: the one too many says that there are more. */
export function pageOf<Node>(
  rows: readonly Node[],
  limit: number,
  cursorOf: (node: Node) => string,
): Page<Node> {
  const nodes = rows.slice(0, limit);
  const last = nodes.at(-1);
  return { nodes, hasNextPage: rows.length > limit, endCursor: last === undefined ? null : cursorOf(last) };
}

/** Names of objects that have a connection: XConnection is a page of X. */
type PagedName = {
  [Name in keyof SchemaObjects]: `${Name & string}Connection` extends keyof SchemaObjects ? Name : never;
}[keyof SchemaObjects];

/** Declares `XConnection` with nodes and pageInfo. */
export function defineConnection(builder: Builder, name: PagedName): void {
  type AnyPage = Page<SchemaObjects[PagedName]>;
  builder.objectType(`${name}Connection` as `${PagedName}Connection`, {
    fields: (t) => ({
      nodes: t.field({ type: [name], resolve: (page) => [...(page as AnyPage).nodes] }),
      pageInfo: t.field({ type: 'PageInfo', resolve: (page) => page as AnyPage }),
    }),
  });
}
