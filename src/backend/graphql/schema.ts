import type { GraphQLSchema } from 'graphql';
import { operationsWithoutAccess } from './access.ts';
import { objects } from './objects.ts';
import { operations } from './operations.ts';
import { createSchemaBuilder, type Declaration } from './schema-builder.ts';

/** The whole schema; it fails where an operation does not say who may call it. */
export function createSchema(declared: readonly Declaration[] = [...objects, ...operations]): GraphQLSchema {
  const builder = createSchemaBuilder();
  builder.queryType();
  builder.mutationType();
  for (const declare of declared) declare(builder);
  const schema = builder.toSchema();
  const open = operationsWithoutAccess(schema);
  if (open.length > 0) throw new Error(`${open.join(', ')}: say who may call it, by authScopes`);
  return schema;
}
