import {
  type DocumentNode,
  executeSync,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  getIntrospectionQuery,
  Kind,
  parse,
  type SelectionSetNode,
} from 'graphql';
import { QUERY_LIMITS } from './query-limits.ts';

/** Answers the introspection queries of tools without executing them. */
interface StandardIntrospection {
  /** The response in JSON; null for any other query, which is executed like all queries. */
  answerTo(query: string, operationName: string | null): string | null;
}

/** Few tools are in use, each with its own query text. A response has 150 KB. */
const ANSWERS_STORED = 16;

/**
 * GraphiQL, code generators and our own checks send the introspection query of graphql-js, in one of its variants or
 * with parts left out. Each selects a part of the largest variant, which is executed once; a response is the selected
 * part of that result. This takes 1 ms, execution 35 ms, and the text of each response is cached.
 */
export function createStandardIntrospection(schema: GraphQLSchema): StandardIntrospection {
  const document = parse(getIntrospectionQuery(EVERYTHING));
  const largest = largestOf(document);
  const answers = new Map<string, string>();
  let whole: Json = null;

  function compute(query: string, operationName: string | null): string | null {
    const selection = selectionOf(parseOrNull(query), operationName, largest);
    if (selection === null || !isWhole(selection, largest)) return null;
    whole ??= executeSync({ schema, document }).data as Json;
    return JSON.stringify({ data: selected(whole, selection) });
  }

  return {
    answerTo(query, operationName) {
      if (!query.includes('__schema')) return null;
      const key = `${operationName ?? ''} ${query}`;
      const known = answers.get(key);
      const answer = known ?? compute(query, operationName);
      if (answer === null) return null;
      answers.delete(key);
      answers.set(key, answer);
      if (answers.size > ANSWERS_STORED) answers.delete(answers.keys().next().value ?? '');
      return answer;
    },
  };
}

function largestOf(document: DocumentNode): Selection {
  const largest = selectionOf(document, null, null);
  if (largest === null) throw new Error('graphql-js has changed its introspection query');
  return largest;
}

const EVERYTHING = {
  descriptions: true,
  specifiedByUrl: true,
  directiveIsRepeatable: true,
  schemaDescription: true,
  inputValueDeprecation: true,
  oneOf: true,
} as const;

type Json = { readonly [name: string]: unknown } | null;

/** A selection with its fragments resolved: field names in order, each with its own selection. */
interface Selection {
  readonly includesDeprecated: boolean;
  readonly inside: Map<string, Selection>;
  /** The fragments that it contains. */
  readonly spread: Set<string>;
}

/**
 * Null if the query contains anything that no standard introspection query has: other operations, variables, aliases,
 * directives, arguments, or a field that `largest` does not have there. So the result is never larger than `largest`,
 * however fragments spread each other.
 */
function selectionOf(
  document: DocumentNode | null,
  operationName: string | null,
  largest: Selection | null,
): Selection | null {
  if (document === null) return null;
  const fragments = new Map<string, FragmentDefinitionNode>();
  const operations = document.definitions.filter((definition) => {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
    return definition.kind !== Kind.FRAGMENT_DEFINITION;
  });
  const [operation, ...others] = operations;
  if (operation?.kind !== Kind.OPERATION_DEFINITION || others.length > 0) return null;
  if (operation.operation !== 'query' || operation.variableDefinitions?.length) return null;
  if (operation.directives?.length) return null;
  if (operationName !== null && operationName !== operation.name?.value) return null;
  const root: Selection = { includesDeprecated: false, inside: new Map(), spread: new Set() };
  const used = new Set<string>();
  const isPlain = addSelections(operation.selectionSet, root, { fragments, used, largest });
  // A fragment that is not used is an error, which validation reports.
  return isPlain && used.size === fragments.size ? root : null;
}

interface Walk {
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly used: Set<string>;
  readonly largest: Selection | null;
}

function addSelections({ selections }: SelectionSetNode, into: Selection, walk: Walk): boolean {
  return selections.every((selection) => {
    if (selection.directives?.length) return false;
    if (selection.kind === Kind.FIELD) return addField(selection, into, walk);
    if (selection.kind === Kind.INLINE_FRAGMENT) return addSelections(selection.selectionSet, into, walk);
    return addFragment(selection.name.value, into, walk);
  });
}

function addFragment(name: string, into: Selection, walk: Walk): boolean {
  const fragment = walk.fragments.get(name);
  if (fragment === undefined || fragment.directives?.length) return false;
  if (into.spread.has(name)) return true;
  walk.used.add(name);
  into.spread.add(name);
  return addSelections(fragment.selectionSet, into, walk);
}

function addField(field: FieldNode, into: Selection, walk: Walk): boolean {
  const { name, alias, arguments: given = [], selectionSet } = field;
  const largest = walk.largest?.inside.get(name.value) ?? null;
  if (alias !== undefined || (walk.largest !== null && largest === null)) return false;
  const [argument, ...others] = given;
  if (others.length > 0) return false;
  if (argument !== undefined && argument.name.value !== 'includeDeprecated') return false;
  if (argument !== undefined && argument.value.kind !== Kind.BOOLEAN) return false;
  const includesDeprecated = argument?.value.kind === Kind.BOOLEAN && argument.value.value;
  const before = into.inside.get(name.value);
  if (before !== undefined && before.includesDeprecated !== includesDeprecated) return false;
  const own = before ?? { includesDeprecated, inside: new Map(), spread: new Set() };
  into.inside.set(name.value, own);
  return selectionSet === undefined || addSelections(selectionSet, own, { ...walk, largest });
}

/** An object without a selection, or an argument where there is none, is an error that validation reports. */
function isWhole(selection: Selection, largest: Selection): boolean {
  if (selection.inside.size === 0 && largest.inside.size > 0) return false;
  if (selection.includesDeprecated && !largest.includesDeprecated) return false;
  return [...selection.inside].every(([name, inner]) => isWhole(inner, largest.inside.get(name) ?? inner));
}

function selected(value: unknown, selection: Selection): unknown {
  if (selection.inside.size === 0 || value === null) return value;
  if (Array.isArray(value)) {
    const shown = selection.includesDeprecated ? value : value.filter(isCurrent);
    return shown.map((one) => selected(one, selection));
  }
  const found: Record<string, unknown> = {};
  for (const [name, inner] of selection.inside) found[name] = selected((value as Json)?.[name], inner);
  return found;
}

function isCurrent(value: unknown): boolean {
  return (value as { isDeprecated?: unknown }).isDeprecated !== true;
}

function parseOrNull(query: string): DocumentNode | null {
  try {
    return parse(query, { maxTokens: QUERY_LIMITS.tokens, noLocation: true });
  } catch {
    return null;
  }
}
