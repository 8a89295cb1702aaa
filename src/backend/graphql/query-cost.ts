import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isInterfaceType,
  isLeafType,
  isListType,
  isObjectType,
  Kind,
  type SelectionSetNode,
  TypeNameMetaFieldDef,
} from 'graphql';
import { isIntrospection } from './introspection.ts';
import { LONGEST_PAGE, USUAL_PAGE } from './paging.ts';

/** The size of a field's value, declared as its `extensions`. */
export interface FieldSize {
  /** The most rows of a list without pages. */
  readonly maxRows?: number;
  /** The most characters of a text or JSON value. */
  readonly maxCharacters?: number;
}

/** For lists without `maxRows`: what operators configure, as plans and queues. */
const USUAL_ROWS = 25;
/** For JSON without `maxCharacters`. */
const USUAL_JSON_CHARACTERS = 16_000;
/** Each of these adds one to the cost: 10,000 of them exceed the largest response. */
const CHARACTERS_A_STEP = 4_000;
/** An operation is at least one statement of SQL. */
const OPERATION_COST = 20;

/**
 * The cost of an operation, known before it runs: one per field, more for long texts, and the content of a list
 * multiplied by the most rows that it may have. A variable `first` counts as the longest page, because the cost is
 * computed before variables are known. Introspection has a limit of its own (introspection.ts). Each fragment is
 * computed once however often it is spread: otherwise fragments that spread each other twice would take 2^n steps.
 */
export function createQueryCost(
  schema: GraphQLSchema,
  fragmentOf: (name: string) => FragmentDefinitionNode | null | undefined,
): (selected: SelectionSetNode, root: GraphQLNamedType) => number {
  const known = new Map<FragmentDefinitionNode, number>();
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];

  function costOf(selected: SelectionSetNode | undefined, parent: GraphQLNamedType | undefined): number {
    let sum = 0;
    for (const selection of selected?.selections ?? []) {
      if (selection.kind === Kind.FIELD) sum += costOfField(selection, parent);
      else if (selection.kind === Kind.FRAGMENT_SPREAD) {
        sum += costOfFragment(fragmentOf(selection.name.value));
      } else sum += costOf(selection.selectionSet, typeNamed(selection.typeCondition?.name.value) ?? parent);
    }
    return sum;
  }

  function costOfField(field: FieldNode, parent: GraphQLNamedType | undefined): number {
    if (isIntrospection(field)) return 1;
    const own = roots.includes(parent as never) ? OPERATION_COST : 1;
    const definition = fieldOf(parent, field.name.value);
    // Validation refuses unknown fields, but takes longer.
    if (definition === null || parent === undefined) return own + costOf(field.selectionSet, undefined);
    const rows = rowsOf(field, parent, definition);
    const inside = costOf(field.selectionSet, getNamedType(definition.type));
    return own + stepsOf(definition) + rows * inside;
  }

  /** A cycle costs nothing here: validation refuses it. */
  function costOfFragment(fragment: FragmentDefinitionNode | null | undefined): number {
    if (fragment === null || fragment === undefined) return 0;
    const before = known.get(fragment);
    if (before !== undefined) return before;
    known.set(fragment, 0);
    const cost = costOf(fragment.selectionSet, typeNamed(fragment.typeCondition.name.value));
    known.set(fragment, cost);
    return cost;
  }

  function typeNamed(name: string | undefined): GraphQLNamedType | undefined {
    return name === undefined ? undefined : schema.getType(name);
  }

  return costOf;
}

type Field = GraphQLField<unknown, unknown>;

function fieldOf(parent: GraphQLNamedType | undefined, name: string): Field | null {
  if (name === TypeNameMetaFieldDef.name) return TypeNameMetaFieldDef;
  const hasFields = isObjectType(parent) || isInterfaceType(parent);
  return hasFields ? (parent.getFields()[name] ?? null) : null;
}

function rowsOf(field: FieldNode, parent: GraphQLNamedType, definition: Field): number {
  if (definition.args.some(({ name }) => name === 'first')) {
    const first = field.arguments?.find(({ name }) => name.value === 'first')?.value;
    if (first === undefined || first.kind === Kind.NULL) return USUAL_PAGE;
    const rows = first.kind === Kind.INT ? Number(first.value) : LONGEST_PAGE;
    return Math.min(Math.max(rows, 1), LONGEST_PAGE);
  }
  if (!isListType(getNullableType(definition.type))) return 1;
  // The rows of a page are counted at the field that takes `first`.
  if (parent.name.endsWith('Connection')) return 1;
  const { maxRows } = definition.extensions as FieldSize;
  return maxRows ?? USUAL_ROWS;
}

function stepsOf({ type, extensions }: Field): number {
  const named = getNamedType(type);
  if (!isLeafType(named)) return 0;
  const { maxCharacters } = extensions as FieldSize;
  const usual = named.name === 'JSON' ? USUAL_JSON_CHARACTERS : 0;
  return Math.ceil((maxCharacters ?? usual) / CHARACTERS_A_STEP);
}
