import { type FieldNode, GraphQLError, Kind, type ValidationRule } from 'graphql';
import { LONGEST_PAGE } from '../paging.ts';
import { foldSelections } from './selections.ts';

/**
 * What a query may cost: one for each field, and what is inside a page as often as the page has rows. `first` given
 * by a variable counts as the longest page, because a query is judged before its variables are known.
 */
export function costLimit(most: number): ValidationRule {
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
