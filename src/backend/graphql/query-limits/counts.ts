import { GraphQLError, type ValidationRule } from 'graphql';

/** How many aliases a document may have: with them one request would try a thousand passwords. */
export function aliasLimit(most: number): ValidationRule {
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

export function directiveLimit(most: number): ValidationRule {
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
export function mutationLimit(most: number): ValidationRule {
  return (context) => ({
    OperationDefinition(operation) {
      if (operation.operation !== 'mutation' || operation.selectionSet.selections.length <= most) return;
      const message = `A request has at most ${most} mutations: send the others after it.`;
      context.reportError(new GraphQLError(message, { nodes: operation }));
    },
  });
}
