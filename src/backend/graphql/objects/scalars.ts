import { GraphQLError } from 'graphql';
import type { Declaration } from '../schema-builder.ts';

/** A day in UTC, or a moment with its zone: what a server takes for local time nobody knows. */
const ISO_DATE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;

export const scalars: Declaration = (builder) => {
  builder.scalarType('DateTime', {
    description: 'A moment, as ISO 8601 in UTC.',
    serialize: (moment) => moment.toISOString(),
    parseValue: readMoment,
  });
  builder.scalarType('JSON', {
    description: 'Any JSON value.',
    serialize: (value) => value,
    parseValue: (value) => value,
  });
  builder.objectType('PageInfo', {
    description: 'Where a page of a list ends: its endCursor is the next page’s `after`.',
    fields: (t) => ({
      hasNextPage: t.exposeBoolean('hasNextPage'),
      endCursor: t.exposeID('endCursor', { nullable: true }),
    }),
  });
};

function readMoment(value: unknown): Date {
  const moment = typeof value === 'string' && ISO_DATE.test(value) ? new Date(value) : null;
  if (moment === null || Number.isNaN(moment.getTime())) {
    const message = 'A moment as ISO 8601 with its zone is needed, as 2031-12-31T23:00:00Z.';
    throw new GraphQLError(message, { extensions: { code: 'BAD_USER_INPUT' } });
  }
  return moment;
}
