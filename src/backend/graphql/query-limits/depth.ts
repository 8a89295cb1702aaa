import { GraphQLError, type ValidationRule } from 'graphql';
import { foldSelections } from './selections.ts';

/** How deep fields may be nested. */
export function depthLimit(deepest: number): ValidationRule {
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
