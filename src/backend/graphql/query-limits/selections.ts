import {
  type FieldNode,
  type FragmentDefinitionNode,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
  type ValidationContext,
} from 'graphql';

/** Introspection is free of limits on depth and cost: it reads only the schema, and tools nest it deeply. */
export function isIntrospection(field: FieldNode): boolean {
  return field.name.value.startsWith('__');
}

/**
 * Sums or maximises over a selection, each fragment worked out once however often it is spread: otherwise a few
 * fragments that spread each other twice would cost 2^n steps. A cycle counts as nothing, being refused elsewhere.
 */
export function foldSelections(
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
