import {
  type ASTNode,
  type DocumentNode,
  GraphQLError,
  type GraphQLNamedType,
  type GraphQLSchema,
  Kind,
  MaxIntrospectionDepthRule,
  parse,
  type SelectionNode,
  type SelectionSetNode,
  specifiedRules,
  type ValidationContext,
  type ValidationRule,
  validate,
  visit,
} from 'graphql';
import { isIntrospection } from './introspection.ts';
import { createQueryCost } from './query-cost.ts';

/** The console's largest query is 6 levels deep and costs about 5,000. */
export const QUERY_LIMITS = {
  characters: 20_000,
  tokens: 2_000,
  depth: 10,
  cost: 10_000,
  aliases: 30,
  repeats: 100,
  directives: 30,
  literalDepth: 20,
  mutations: 5,
} as const;

/** Validation stops after this many errors: each may cost a search for similar names. */
const MOST_ERRORS = 10;

/**
 * Throws GraphQLError for a syntax error, and for a query with more tokens than the limit. Tools built on graphql-js 15
 * request the draft name of `specifiedByURL`.
 */
export function parseQuery(query: string): DocumentNode {
  const document = parse(query, { maxTokens: QUERY_LIMITS.tokens });
  if (!query.includes(DRAFT_NAME)) return document;
  return visit(document, {
    Field(field) {
      if (field.name.value !== DRAFT_NAME) return undefined;
      const alias = field.alias ?? field.name;
      return { ...field, alias, name: { ...field.name, value: 'specifiedByURL' } };
    },
  });
}

const DRAFT_NAME = 'specifiedByUrl';

/**
 * Everything that is checked before a query runs. The limits come first, in one pass each: the language's own rules
 * compare fields pair by pair and would take seconds on queries beyond the limits.
 */
export function checkQuery(
  schema: GraphQLSchema,
  document: DocumentNode,
  more: readonly ValidationRule[] = [],
): readonly GraphQLError[] {
  const beyond = validate(schema, document, limitRules, { maxErrors: 1 });
  // The last error is followed by one that says that there may be more.
  if (beyond.length > 0) return beyond.slice(0, 1);
  return validate(schema, document, [...languageRules, ...more], { maxErrors: MOST_ERRORS });
}

/** Introspection has a limit of its own, which counts what is read and not how types are nested. */
const languageRules = specifiedRules.filter((rule) => rule !== MaxIntrospectionDepthRule);

const limitRules: readonly ValidationRule[] = [
  operationLimit(aliasesOf, QUERY_LIMITS.aliases, (count, most) => {
    return `The query has ${count} aliases, more than ${most}: split it.`;
  }),
  operationLimit(depthOf, QUERY_LIMITS.depth, (depth, most) => {
    return `The query is ${depth} levels deep, more than ${most}: request less at once.`;
  }),
  mutationLimit(QUERY_LIMITS.mutations),
  costLimit(QUERY_LIMITS.cost),
  directiveLimit(QUERY_LIMITS.directives),
  literalLimit(QUERY_LIMITS.literalDepth),
  repeatLimit(QUERY_LIMITS.repeats),
];

type Fold = (context: ValidationContext) => (selected: SelectionSetNode) => number;

function operationLimit(
  fold: Fold,
  most: number,
  messageOf: (found: number, most: number) => string,
): ValidationRule {
  return (context) => {
    const measure = fold(context);
    return {
      OperationDefinition(operation) {
        const value = measure(operation.selectionSet);
        if (value > most) context.reportError(new GraphQLError(messageOf(value, most), { nodes: operation }));
        return false;
      },
      FragmentDefinition: () => false,
    };
  };
}

/** How deep fields are nested. */
function depthOf(context: ValidationContext): (selected: SelectionSetNode) => number {
  return foldSelections(context, Math.max, (inside) => 1 + inside);
}

/** With aliases one request could try a thousand passwords, and a spread multiplies those of its fragment. */
function aliasesOf(context: ValidationContext): (selected: SelectionSetNode) => number {
  return foldSelections(context, sum, (inside, isAlias) => inside + (isAlias ? 1 : 0));
}

/**
 * A request has few mutations: a list of logins, or a list of purchases of which half succeed, serves no valid purpose.
 */
function mutationLimit(most: number): ValidationRule {
  return (context) => {
    const countOf = foldSelections(context, sum, () => 1);
    return {
      OperationDefinition(operation) {
        if (operation.operation === 'mutation' && countOf(operation.selectionSet) > most) {
          const message = `A request has at most ${most} mutations: send the others after it.`;
          context.reportError(new GraphQLError(message, { nodes: operation }));
        }
        return false;
      },
      FragmentDefinition: () => false,
    };
  };
}

function costLimit(most: number): ValidationRule {
  return (context) => {
    const schema = context.getSchema();
    const costOf = createQueryCost(schema, (name) => context.getFragment(name));
    return {
      OperationDefinition(operation) {
        const root: GraphQLNamedType | null | undefined = schema.getRootType(operation.operation);
        const cost = root == null ? 0 : costOf(operation.selectionSet, root);
        if (cost > most) {
          const message = `The query costs ${cost}, more than ${most}: request fewer fields or shorter pages.`;
          context.reportError(new GraphQLError(message, { nodes: operation }));
        }
        return false;
      },
      FragmentDefinition: () => false,
    };
  };
}

function directiveLimit(most: number): ValidationRule {
  return (context) => {
    let count = 0;
    return {
      Directive(directive) {
        count += 1;
        if (count !== most + 1) return;
        const message = `The query has more than ${most} directives: split it.`;
        context.reportError(new GraphQLError(message, { nodes: directive }));
      },
    };
  };
}

/** The nesting of literal lists and objects. Larger values are sent as variables. */
function literalLimit(most: number): ValidationRule {
  return (context) => {
    let depth = 0;
    const limited = {
      enter(node: ASTNode) {
        depth += 1;
        if (depth !== most + 1) return;
        const message = `A value is nested deeper than ${most} levels: send it as a variable.`;
        context.reportError(new GraphQLError(message, { nodes: node }));
      },
      leave() {
        depth -= 1;
      },
    };
    return { ListValue: limited, ObjectValue: limited };
  };
}

/**
 * How often a field is selected again in the same place, fragments included. The language allows it and checks that
 * each pair can be merged: 300 times the same field take 90 ms.
 */
function repeatLimit(most: number): ValidationRule {
  return (context) => {
    let repeats = 0;
    return {
      SelectionSet(selected) {
        if (repeats > most) return;
        const names = new Set<string>();
        let fields = 0;
        for (const field of fieldsOf(context, selected, new Set())) {
          names.add(field);
          fields += 1;
          if (repeats + fields - names.size > most) break;
        }
        repeats += fields - names.size;
        if (repeats <= most) return;
        const message = `The query selects fields again more than ${most} times: select each once.`;
        context.reportError(new GraphQLError(message, { nodes: selected }));
      },
    };
  };
}

/** The response names of a selection, each as often as it is selected. Each fragment is visited once. */
function* fieldsOf(
  context: ValidationContext,
  selected: SelectionSetNode,
  seen: Set<string>,
): Generator<string> {
  for (const selection of selected.selections) {
    if (selection.kind === Kind.FIELD) yield selection.alias?.value ?? selection.name.value;
    else if (selection.kind === Kind.INLINE_FRAGMENT) {
      yield* fieldsOf(context, selection.selectionSet, seen);
    } else if (!seen.has(selection.name.value)) {
      seen.add(selection.name.value);
      const fragment = context.getFragment(selection.name.value);
      if (fragment != null) yield* fieldsOf(context, fragment.selectionSet, seen);
    }
  }
}

function sum(...values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/**
 * Combines the values of a selection's fields. Introspection counts as a field: it has a limit of its own. Each fragment is computed once however often it is spread: otherwise
 * fragments that spread each other twice would take 2^n steps. A cycle counts as nothing; it is refused elsewhere.
 */
function foldSelections(
  context: ValidationContext,
  join: (...values: readonly number[]) => number,
  ofField: (inside: number, isAlias: boolean) => number,
): (selected: SelectionSetNode) => number {
  const known = new Map<string, number>();

  function inside(selected: SelectionSetNode | undefined): number {
    return selected === undefined ? 0 : join(0, ...selected.selections.map(ofSelection));
  }

  function ofSelection(selection: SelectionNode): number {
    switch (selection.kind) {
      case Kind.FIELD:
        if (isIntrospection(selection)) return ofField(0, false);
        return ofField(inside(selection.selectionSet), selection.alias !== undefined);
      case Kind.INLINE_FRAGMENT:
        return inside(selection.selectionSet);
      case Kind.FRAGMENT_SPREAD:
        return ofFragment(selection.name.value);
    }
  }

  function ofFragment(name: string): number {
    const before = known.get(name);
    if (before !== undefined) return before;
    known.set(name, 0);
    const value = inside(context.getFragment(name)?.selectionSet);
    known.set(name, value);
    return value;
  }

  return inside;
}
