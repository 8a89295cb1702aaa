import {
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
  type ValidationContext,
  type ValidationRule,
} from 'graphql';
import { LONGEST_PAGE } from './paging.ts';

/** The console's largest query is 6 levels deep and costs some 1,500. */
export const QUERY_LIMITS = {
  tokens: 2_000,
  depth: 10,
  cost: 10_000,
  aliases: 30,
  directives: 30,
  mutations: 5,
} as const;

/** Checked with the document, before anything runs; tokens are counted while it is parsed. */
export const queryLimitRules: readonly ValidationRule[] = [
  depthLimit(QUERY_LIMITS.depth),
  costLimit(QUERY_LIMITS.cost),
  aliasLimit(QUERY_LIMITS.aliases),
  directiveLimit(QUERY_LIMITS.directives),
  mutationLimit(QUERY_LIMITS.mutations),
];

/** How deep fields may be nested. */
function depthLimit(deepest: number): ValidationRule {
  return (context) => {
    const depthOf = foldSelections(
      context,
      (depths) => Math.max(0, ...depths),
      (field, inside) => 1 + inside(field.selectionSet),
    );
    return {
      OperationDefinition(operation) {
        const depth = depthOf(operation.selectionSet);
        if (depth <= deepest) return;
        const message = `The query is ${depth} levels deep, more than ${deepest}: ask for less at once.`;
        context.reportError(new GraphQLError(message, { nodes: operation }));
      },
    };
  };
}

/**
 * What a query may cost: one for each field, and what is inside a page as often as the page has rows. `first` given
 * by a variable counts as the longest page, because a query is judged before its variables are known.
 */
function costLimit(most: number): ValidationRule {
  return (context) => {
    const costOf = foldSelections(
      context,
      (costs) => costs.reduce((sum, cost) => sum + cost, 0),
      (field, inside) => 1 + rowsOf(field) * inside(field.selectionSet),
    );
    return {
      OperationDefinition(operation) {
        const cost = costOf(operation.selectionSet);
        if (cost <= most) return;
        const message = `The query costs ${cost}, more than ${most}: ask for fewer fields or shorter pages.`;
        context.reportError(new GraphQLError(message, { nodes: operation }));
      },
    };
  };
}

function rowsOf(field: FieldNode): number {
  const first = field.arguments?.find(({ name }) => name.value === 'first')?.value;
  if (first === undefined) return 1;
  const rows = first.kind === Kind.INT ? Number(first.value) : LONGEST_PAGE;
  return Math.min(Math.max(rows, 1), LONGEST_PAGE);
}

/** How many aliases a document may have: with them one request would try a thousand passwords. */
function aliasLimit(most: number): ValidationRule {
  return (context) => {
    let count = 0;
    return {
      Field(field) {
        if (field.alias === undefined) return;
        count += 1;
        if (count === most + 1) {
          const message = `The query has more than ${most} aliases: split it.`;
          context.reportError(new GraphQLError(message, { nodes: field }));
        }
      },
    };
  };
}

function directiveLimit(most: number): ValidationRule {
  return (context) => {
    let count = 0;
    return {
      Directive(directive) {
        count += 1;
        if (count === most + 1) {
          const message = `The query has more than ${most} directives: split it.`;
          context.reportError(new GraphQLError(message, { nodes: directive }));
        }
      },
    };
  };
}

/** One change a request: a list of log-ins, or half a list of purchases done, would serve nobody. */
function mutationLimit(most: number): ValidationRule {
  return (context) => ({
    OperationDefinition(operation) {
      if (operation.operation !== 'mutation' || operation.selectionSet.selections.length <= most) return;
      const message = `A request has at most ${most} mutations: send the others after it.`;
      context.reportError(new GraphQLError(message, { nodes: operation }));
    },
  });
}

/** Introspection is free of limits on depth and cost: it reads only the schema, and tools nest it deeply. */
function isIntrospection(field: FieldNode): boolean {
  return field.name.value.startsWith('__');
}

/**
 * Sums or maximises over a selection, each fragment worked out once however often it is spread: otherwise a few
 * fragments that spread each other twice would cost 2^n steps. A cycle counts as nothing, being refused elsewhere.
 */
function foldSelections(
  context: ValidationContext,
  join: (values: readonly number[]) => number,
  ofField: (field: FieldNode, inside: (selected: SelectionSetNode | undefined) => number) => number,
): (selected: SelectionSetNode) => number {
  const known = new Map<FragmentDefinitionNode, number>();

  function inside(selected: SelectionSetNode | undefined): number {
    if (selected === undefined) return 0;
    return join(selected.selections.map(ofSelection));
  }

  function ofSelection(selection: SelectionNode): number {
    switch (selection.kind) {
      case Kind.FIELD:
        return isIntrospection(selection) ? 0 : ofField(selection, inside);
      case Kind.INLINE_FRAGMENT:
        return inside(selection.selectionSet);
      case Kind.FRAGMENT_SPREAD:
        return ofFragment(context.getFragment(selection.name.value));
    }
  }

  function ofFragment(fragment: FragmentDefinitionNode | null | undefined): number {
    if (fragment === null || fragment === undefined) return 0;
    const before = known.get(fragment);
    if (before !== undefined) return before;
    known.set(fragment, 0);
    const value = inside(fragment.selectionSet);
    known.set(fragment, value);
    return value;
  }

  return inside;
}
