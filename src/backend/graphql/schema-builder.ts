import SchemaBuilder from '@pothos/core';
import DataloaderPlugin from '@pothos/plugin-dataloader';
import ScopeAuthPlugin from '@pothos/plugin-scope-auth';
import { type Access, accessOf } from './access.ts';
import type { SchemaInputs } from './document-input.ts';
import { forbidden, unauthenticated } from './refusals.ts';
import type { RequestContext } from './request-context.ts';
import type { SchemaObjects, SchemaScalars } from './schema-names.ts';

export type Builder = ReturnType<typeof createSchemaBuilder>;

/** One operation or one object: a function that declares it. */
export type Declaration = (builder: Builder) => void;

export function createSchemaBuilder() {
  return new SchemaBuilder<{
    Context: RequestContext;
    Objects: SchemaObjects;
    Scalars: SchemaScalars;
    Inputs: SchemaInputs;
    AuthScopes: Access;
    DefaultFieldNullability: false;
  }>({
    plugins: [ScopeAuthPlugin, DataloaderPlugin],
    defaultFieldNullability: false,
    scopeAuth: {
      authScopes: accessOf,
      // At the subscription itself too, before its first event.
      authorizeOnSubscribe: true,
      // A database that is away is a fault, not a missing right.
      treatErrorsAsUnauthorized: false,
      unauthorizedError: (_parent, context) => (context.isSignedIn() ? forbidden() : unauthenticated()),
    },
  });
}
