import type { GraphQLError } from 'graphql';
import { isId } from '../../domain/keys/api-key.ts';
import { badInput } from './errors.ts';
import type { Builder, SchemaObjects } from './schema-builder.ts';

/** What every connection resolves to. */
export interface Page<Node> {
  readonly nodes: readonly Node[];
  readonly hasNextPage: boolean;
  readonly endCursor: string | null;
}

/** `first` and `after` as a client sent them. */
export interface PageArgs {
  readonly first?: number | null | undefined;
  readonly after?: string | number | null | undefined;
}

export const LONGEST_PAGE = 100;
export const USUAL_PAGE = 20;
const LONGEST_CURSOR = 200;

/** Reads `first` and `after`: 20 rows by default, at most 100. `after` is the cursor of the last row before. */
export function pageArgs(args: PageArgs): { readonly limit: number; readonly after: string | null } {
  const limit = args.first ?? USUAL_PAGE;
  if (limit < 1 || limit > LONGEST_PAGE)
    throw badInput('first', `a number from 1 to ${LONGEST_PAGE} is needed`);
  const after = args.after == null || args.after === '' ? null : String(args.after);
  if (after !== null && (after.length > LONGEST_CURSOR || !/^[\w.:+-]+$/.test(after))) {
    throw wrongCursor();
  }
  return { limit, after };
}

/** The cursor of a numbered list; null starts at the beginning. */
export function numberCursor(after: string | null): bigint | null {
  if (after === null) return null;
  if (!/^\d{1,18}$/.test(after)) throw wrongCursor();
  return BigInt(after);
}

/** The cursor of a list ordered by time-ordered ids. */
export function idCursor(after: string | null): string | null {
  if (after !== null && !isId(after)) throw wrongCursor();
  return after;
}

/** For lists whose cursors have another format. */
export function wrongCursor(): GraphQLError {
  return badInput('after', 'this is no cursor: give the endCursor of a page');
}

/** Makes a page of rows read with `limit + 1`: the extra row shows that there is a next page. */
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
