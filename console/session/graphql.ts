import type { DocumentDecoration, initGraphQLTada } from 'gql.tada';
import type { introspection, introspection_types } from './schema.generated.d.ts';

/** A query or mutation: its text, with the types of its variables and data. */
export type Query<Data, Variables> = DocumentDecoration<Data, Variables>;

type Inference = ReturnType<
  typeof initGraphQLTada<{
    introspection: introspection;
    scalars: { ID: string; DateTime: string; JSON: unknown };
  }>
>;

/**
 * Marks a text as a query. Its types are inferred from the text and the backend's schema. At run time it is only the
 * text, so the bundle contains no code of the library. A test validates each query against the schema.
 */
export const graphql = ((text: string) => text) as unknown as Inference;

export function textOf(query: Query<unknown, never>): string {
  return query as unknown as string;
}

/** The data that a query returns. */
export type DataOf<Of> = Of extends Query<infer Data, never> ? Data : never;

/** A row of the only list or connection that a query returns. */
export type RowOf<Of> = RowIn<DataOf<Of>[keyof DataOf<Of>]>;
type RowIn<Field> = Field extends readonly (infer Row)[]
  ? Row
  : Field extends { readonly nodes: readonly (infer Row)[] }
    ? Row
    : never;

/** The variables of a query; lists in them may be read-only. */
export type Variables<Of> = ReadOnly<Of extends Query<unknown, infer Taken> ? Taken : never>;
export type ReadOnly<Taken> = Taken extends readonly (infer Item)[]
  ? readonly ReadOnly<Item>[]
  : Taken extends object
    ? { readonly [Name in keyof Taken]: ReadOnly<Taken[Name]> }
    : Taken;

/** The variables as an argument, which is optional if the query requires none. */
export type VariablesArgument<Taken> = object extends Taken ? [ReadOnly<Taken>?] : [ReadOnly<Taken>];

/** The values of an enumeration of the schema. */
export type EnumOf<Name extends keyof introspection_types> = introspection_types[Name] extends {
  enumValues: infer Value;
}
  ? Value
  : never;
