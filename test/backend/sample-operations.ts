import {
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
} from 'graphql';

export interface SampleOperation {
  readonly kind: 'query' | 'mutation' | 'subscription';
  readonly name: string;
  readonly field: GraphQLField<unknown, unknown>;
}

/** Every operation that the schema has. */
export function operationsOf(schema: GraphQLSchema): readonly SampleOperation[] {
  const roots = [
    { kind: 'query', type: schema.getQueryType() },
    { kind: 'mutation', type: schema.getMutationType() },
    { kind: 'subscription', type: schema.getSubscriptionType() },
  ] as const;
  return roots.flatMap(({ kind, type }) =>
    Object.values(type?.getFields() ?? {}).map((field) => ({ kind, name: field.name, field })),
  );
}

/** The document that calls an operation with a variable for each argument, and asks for as little as there is. */
export function documentOf({ kind, field }: SampleOperation): string {
  const declared = field.args.map(({ name, type }) => `$${name}: ${type}`).join(', ');
  const passed = field.args.map(({ name }) => `${name}: $${name}`).join(', ');
  const selection = isLeafType(getNamedType(field.type)) ? '' : ' { __typename }';
  return `${kind} Sample${declared && `(${declared})`} { ${field.name}${passed && `(${passed})`}${selection} }`;
}

/** Valid values for all required arguments; `chosen` replaces the value at its path. */
export function variablesOf(
  { field }: SampleOperation,
  chosen: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  return Object.fromEntries(
    field.args.flatMap(({ name, type }) => {
      const value = sampleValue(type, name, chosen);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** The paths of all texts and ids that a client can send to the operation. */
export function textPaths({ field }: SampleOperation): readonly string[] {
  return field.args.flatMap(({ name, type }) => pathsIn(type, name, ['String', 'ID']));
}

/** The paths of all ids, those of cursors too. */
export function idPaths({ field }: SampleOperation): readonly string[] {
  return field.args.flatMap(({ name, type }) => pathsIn(type, name, ['ID']));
}

function pathsIn(type: GraphQLInputType, path: string, types: readonly string[]): readonly string[] {
  const named = getNamedType(type);
  if (isInputObjectType(named)) {
    return Object.values(named.getFields()).flatMap((field) =>
      pathsIn(field.type, `${path}.${field.name}`, types),
    );
  }
  return types.includes(named.name) ? [path] : [];
}

function sampleValue(
  type: GraphQLInputType,
  path: string,
  chosen: Readonly<Record<string, unknown>>,
): unknown {
  const isWanted = Object.keys(chosen).some((one) => one === path || one.startsWith(`${path}.`));
  if (!isNonNullType(type) && !isWanted) return undefined;
  const bare = isNonNullType(type) ? type.ofType : type;
  if (isListType(bare)) return [sampleValue(bare.ofType, path, chosen) ?? null];
  if (path in chosen) return chosen[path];
  if (isInputObjectType(bare)) {
    const fields = Object.values(bare.getFields()).flatMap((field) => {
      const value = sampleValue(field.type, `${path}.${field.name}`, chosen);
      return value === undefined ? [] : [[field.name, value] as const];
    });
    return Object.fromEntries(fields);
  }
  if (isEnumType(bare)) return bare.getValues()[0]?.name;
  return SAMPLES[getNamedType(bare).name] ?? 'x';
}

const SAMPLES: Readonly<Record<string, unknown>> = {
  Int: 1,
  Float: 1,
  Boolean: true,
  ID: '019a0000-0000-7000-8000-000000000000',
  String: 'sample text here',
  DateTime: '2031-01-01T00:00:00Z',
  JSON: {},
};
