import SchemaBuilder from '@pothos/core';
import DataloaderPlugin from '@pothos/plugin-dataloader';
import ScopeAuthPlugin from '@pothos/plugin-scope-auth';
import { GraphQLError } from 'graphql';
import { isValueTooDeep, TOO_DEEP } from '../../http/read-json.ts';
import { beginsWithDay } from '../../ports/clock.ts';
import { type Access, accessOf, lackingRight } from './access.ts';
import type { RequestContext } from './request-context.ts';

export type Builder = ReturnType<typeof createSchemaBuilder>;

/** One operation or one object: a function that declares it. */
export type Declaration = (builder: Builder) => void;

type NamedScalars = {
  [Name in keyof SchemaScalars]: { Input: SchemaScalars[Name]; Output: SchemaScalars[Name] };
};

export function createSchemaBuilder() {
  return new SchemaBuilder<{
    Context: RequestContext;
    Objects: Pick<SchemaObjects, keyof SchemaObjects>;
    Scalars: NamedScalars;
    Inputs: Pick<SchemaInputs, keyof SchemaInputs>;
    AuthScopes: Access;
    DefaultFieldNullability: false;
  }>({
    plugins: [ScopeAuthPlugin, DataloaderPlugin],
    defaultFieldNullability: false,
    scopeAuth: {
      authScopes: accessOf,
      // Also checked when the subscription starts, before its first event.
      authorizeOnSubscribe: true,
      // An unavailable database is a fault, not a missing right.
      treatErrorsAsUnauthorized: false,
      unauthorizedError: (_parent, context) => lackingRight(context),
    },
  });
}

/**
 * The TypeScript type behind each name of the schema. The file that declares an object or an enumeration adds its row
 * by `declare module '../schema-builder.ts'`, so that resolvers refer to types by name and this file imports none.
 */
export interface SchemaObjects {
  PageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

/** Scalars and enumerations: the value behind a name, the same for input and output. */
export interface SchemaScalars {
  ID: string;
  DateTime: Date;
  JSON: unknown;
}

/** Inputs of more than one operation. An input of a single operation is declared beside it and has no row. */
// biome-ignore lint/suspicious/noEmptyInterface: other files add the rows
export interface SchemaInputs {}

/** A date in UTC, or a time with its offset: local times are ambiguous. */
const ISO_DATE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;

/** Arguments given as a date without a time. Their value is the beginning of the day. */
const givenAsDay = new WeakSet<Date>();

export function isGivenAsDay(moment: Date): boolean {
  return givenAsDay.has(moment);
}

export const scalars: Declaration = (builder) => {
  builder.scalarType('DateTime', {
    description:
      'A moment, as ISO 8601 in UTC. As an argument a day such as 2031-12-31 is its first moment; where a period takes ' +
      'it as `to`, the day is included.',
    serialize: (moment) => moment.toISOString(),
    parseValue: readMoment,
  });
  builder.scalarType('JSON', {
    description: 'Any JSON value.',
    serialize: (value) => value,
    parseValue: readJsonValue,
  });
  builder.objectType('PageInfo', {
    description: 'Where a page of a list ends: its endCursor is the next page’s `after`.',
    fields: (t) => ({
      hasNextPage: t.exposeBoolean('hasNextPage'),
      endCursor: t.exposeID('endCursor', { nullable: true }),
    }),
  });
};

function readJsonValue(value: unknown): unknown {
  if (!isValueTooDeep(value)) return value;
  throw new GraphQLError(TOO_DEEP, { extensions: { code: 'BAD_USER_INPUT' } });
}

function readMoment(value: unknown): Date {
  const text = typeof value === 'string' && ISO_DATE.test(value) && beginsWithDay(value) ? value : null;
  const moment = text === null ? null : new Date(text);
  if (moment === null || Number.isNaN(moment.getTime())) {
    const message = 'A moment as ISO 8601 with its zone is needed, as 2031-12-31T23:00:00Z.';
    throw new GraphQLError(message, { extensions: { code: 'BAD_USER_INPUT' } });
  }
  if (text?.includes('T') === false) givenAsDay.add(moment);
  return moment;
}
