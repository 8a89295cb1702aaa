import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type FieldNode,
  GraphQLError,
  type GraphQLField,
  GraphQLIncludeDirective,
  type GraphQLObjectType,
  GraphQLSkipDirective,
  getArgumentValues,
  getDirectiveValues,
  getNamedType,
  getOperationAST,
  getVariableValues,
  isObjectType,
  Kind,
  SchemaMetaFieldDef,
  type SelectionNode,
  type SelectionSetNode,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
  visit,
} from 'graphql';
import { refusal } from './errors.ts';

/**
 * An introspection may read this many fields of the schema, where each 100 characters of text count as one more. Tools
 * that read all of it need 20,000 to 25,000.
 */
const MOST_STEPS = 50_000;
const CHARACTERS_A_STEP = 100;

type Execute = (args: ExecutionArgs) => PromiseOrValue<ExecutionResult>;
type PromiseOrValue<Value> = Promise<Value> | Value;

/** A field of a selection, with what it contains resolved when it is first needed. */
interface Selected {
  readonly field: GraphQLField<unknown, unknown>;
  /** The type of what it contains; null for a leaf. */
  readonly object: GraphQLObjectType | null;
  readonly nodes: readonly [FieldNode, ...FieldNode[]];
  args?: Readonly<Record<string, unknown>>;
  inside?: ReadonlyMap<string, Selected>;
}

const META_FIELDS: Readonly<Record<string, GraphQLField<unknown, unknown>>> = {
  __schema: SchemaMetaFieldDef,
  __type: TypeMetaFieldDef,
  __typename: TypeNameMetaFieldDef,
};

/** `__schema` and `__type` have a limit of their own: what they read, not what they could read at most. */
export function isIntrospection(field: FieldNode): boolean {
  const name = field.name.value;
  return name === SchemaMetaFieldDef.name || name === TypeMetaFieldDef.name;
}

/**
 * Answers `__schema` and `__type` of valid queries by reading the schema, and executes the rest of the query. The general
 * executor takes several times as long, and cannot stop when an answer becomes too large.
 */
export function withIntrospection(execute: Execute): Execute {
  return async (args) => {
    const rest = withoutIntrospection(args.document);
    const read = rest === args.document ? null : readSchema(args);
    if (read === null) return await execute(args);
    if (read.outcome === 'refused') return { data: null, errors: [read.error] };
    const { data, names } = read;
    if (names.every((name) => name in data)) return { data };
    const result = await execute({ ...args, document: rest });
    if (result.data == null) return result;
    const joined = newObject();
    for (const name of names) joined[name] = name in data ? data[name] : result.data[name];
    return { ...result, data: joined };
  };
}

/** Documents are cached by their text, so this is computed once for each. */
const restByDocument = new WeakMap<DocumentNode, DocumentNode>();

/** The same document if it has no introspection. */
function withoutIntrospection(document: DocumentNode): DocumentNode {
  const known = restByDocument.get(document);
  if (known !== undefined) return known;
  const rest = visit(document, { Field: (field) => (isIntrospection(field) ? null : undefined) });
  restByDocument.set(document, rest);
  return rest;
}

type SchemaRead =
  | {
      readonly outcome: 'read';
      /** What is known without executing the query. */
      readonly data: Record<string, unknown>;
      /** All names of the answer, in order. */
      readonly names: readonly string[];
    }
  | { readonly outcome: 'refused'; readonly error: GraphQLError };

/** Null for a mutation, and where the executor has to report wrong variables. */
function readSchema({ schema, document, operationName, variableValues }: ExecutionArgs): SchemaRead | null {
  const operation = getOperationAST(document, operationName);
  const query = schema.getQueryType();
  if (operation?.operation !== 'query' || query == null) return null;
  const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], variableValues ?? {});
  if (coerced === undefined) return null;
  try {
    const reader = createReader({ schema, document }, coerced);
    const roots = reader.select(query, [operation.selectionSet]);
    const data = newObject();
    for (const [name, selected] of roots) {
      if (selected.field.name.startsWith('__')) data[name] = reader.read(query, null, selected);
    }
    return { outcome: 'read', data, names: [...roots.keys()] };
  } catch (error) {
    if (error instanceof GraphQLError) return { outcome: 'refused', error };
    throw error;
  }
}

function createReader({ schema, document }: ExecutionArgs, variables: Readonly<Record<string, unknown>>) {
  const fragments = new Map(
    document.definitions.flatMap((one) =>
      one.kind === Kind.FRAGMENT_DEFINITION ? [[one.name.value, one] as const] : [],
    ),
  );
  let steps = 0;

  function take(count: number): void {
    steps += count;
    if (steps <= MOST_STEPS) return;
    const message = `The introspection reads more than ${MOST_STEPS} fields of the schema. Nest fewer types in each other, or send several queries.`;
    throw refusal('BAD_USER_INPUT', message);
  }

  function select(
    parent: GraphQLObjectType,
    sets: readonly (SelectionSetNode | undefined)[],
  ): ReadonlyMap<string, Selected> {
    const nodes = new Map<string, FieldNode[]>();
    const spread = new Set<string>();
    for (const set of sets) collect(parent, set, { nodes, spread });
    const found = new Map<string, Selected>();
    for (const [name, [first, ...others]] of nodes) {
      const field = first && (META_FIELDS[first.name.value] ?? parent.getFields()[first.name.value]);
      if (first === undefined || field === undefined) continue;
      const type = getNamedType(field.type);
      found.set(name, { field, object: isObjectType(type) ? type : null, nodes: [first, ...others] });
    }
    return found;
  }

  function collect(
    parent: GraphQLObjectType,
    set: SelectionSetNode | undefined,
    into: { readonly nodes: Map<string, FieldNode[]>; readonly spread: Set<string> },
  ): void {
    for (const selection of set?.selections ?? []) {
      take(1);
      if (!isIncluded(selection)) continue;
      if (selection.kind === Kind.FIELD) {
        const name = selection.alias?.value ?? selection.name.value;
        const same = into.nodes.get(name);
        if (same === undefined) into.nodes.set(name, [selection]);
        else same.push(selection);
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        const condition = selection.typeCondition?.name.value ?? parent.name;
        if (condition === parent.name) collect(parent, selection.selectionSet, into);
      } else if (!into.spread.has(selection.name.value)) {
        into.spread.add(selection.name.value);
        const fragment = fragments.get(selection.name.value);
        if (fragment?.typeCondition.name.value === parent.name) collect(parent, fragment.selectionSet, into);
      }
    }
  }

  function isIncluded(selection: SelectionNode): boolean {
    if (!selection.directives?.length) return true;
    const skip = getDirectiveValues(GraphQLSkipDirective, selection, variables);
    const include = getDirectiveValues(GraphQLIncludeDirective, selection, variables);
    return skip?.if !== true && include?.if !== false;
  }

  function read(parent: GraphQLObjectType, source: unknown, selected: Selected): unknown {
    take(1);
    const { field, nodes } = selected;
    selected.args ??= getArgumentValues(field, nodes[0], variables);
    // The resolvers of introspection read nothing else of it.
    const info = { schema, parentType: parent } as never;
    return shown(field.resolve?.(source, selected.args, null, info), selected);
  }

  /** Introspection has lists, objects and leaves that are their own JSON. */
  function shown(value: unknown, selected: Selected): unknown {
    if (value === null || value === undefined) return null;
    if (Array.isArray(value)) return value.map((one) => shown(one, selected));
    const { object } = selected;
    if (object === null) {
      if (typeof value === 'string') take(Math.floor(value.length / CHARACTERS_A_STEP));
      return value;
    }
    selected.inside ??= select(
      object,
      selected.nodes.map(({ selectionSet }) => selectionSet),
    );
    const found = newObject();
    for (const [name, inner] of selected.inside) found[name] = read(object, value, inner);
    return found;
  }

  return { select, read };
}

const BARE: object = Object.create(null);

/** Without inherited members, so that `__proto__` is a name like any other. Faster than one without a prototype. */
function newObject(): Record<string, unknown> {
  return Object.create(BARE);
}
