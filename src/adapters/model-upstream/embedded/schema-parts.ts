/** A JSON schema as it came: nothing in it is sure to have the right shape. */
export interface Schema {
  readonly type?: unknown;
  readonly enum?: unknown;
  readonly const?: unknown;
  readonly default?: unknown;
  readonly anyOf?: unknown;
  readonly oneOf?: unknown;
  readonly properties?: unknown;
  readonly required?: unknown;
  readonly items?: unknown;
  readonly prefixItems?: unknown;
  readonly [keyword: string]: unknown;
}

const MAX_REFERENCES = 16;

/** The schema itself: references followed, allOf merged. */
export function schemaAt(root: unknown, given: unknown): Schema {
  let schema = asSchema(given);
  for (let hops = 0; typeof schema.$ref === 'string'; hops += 1) {
    if (hops >= MAX_REFERENCES) return {};
    schema = asSchema(pointedAt(root, schema.$ref));
  }
  return Array.isArray(schema.allOf) ? mergeAll(root, schema, schema.allOf) : schema;
}

function mergeAll(root: unknown, schema: Schema, parts: readonly unknown[]): Schema {
  const all = [schema, ...parts.slice(0, MAX_REFERENCES).map(asSchema)].map((part) =>
    typeof part.$ref === 'string' ? asSchema(pointedAt(root, part.$ref)) : part,
  );
  return {
    ...Object.assign({}, ...all),
    properties: Object.assign({}, ...all.map(propertiesOf)),
    required: all.flatMap(({ required }) => (Array.isArray(required) ? required : [])),
  };
}

export function propertiesOf(schema: Schema): Readonly<Record<string, unknown>> {
  return asSchema(schema.properties);
}

/** The first type that is not null, guessed from other keywords where there is none. */
export function typeOf(schema: Schema): { type: string; isNullable: boolean } {
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type]).filter(
    (type) => typeof type === 'string',
  );
  const isNullable = types.includes('null') || schema.nullable === true;
  const named = types.find((type) => type !== 'null') ?? types[0];
  if (named !== undefined) return { type: named, isNullable };
  if (schema.properties !== undefined || schema.required !== undefined) return { type: 'object', isNullable };
  if (schema.items !== undefined || schema.prefixItems !== undefined) return { type: 'array', isNullable };
  if (schema.minimum !== undefined || schema.maximum !== undefined) return { type: 'number', isNullable };
  return { type: 'string', isNullable };
}

/** `#/$defs/person` and `#`; what points elsewhere is nothing. */
function pointedAt(root: unknown, reference: string): unknown {
  if (!reference.startsWith('#')) return {};
  return reference
    .slice(1)
    .split('/')
    .filter((step) => step !== '')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((at, step) => {
      const part = at as Readonly<Record<string, unknown>> | null | undefined;
      return typeof part === 'object' && part !== null && Object.hasOwn(part, step) ? part[step] : {};
    }, root);
}

function asSchema(value: unknown): Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Schema) : {};
}
