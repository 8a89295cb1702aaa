import {
  defaultFieldResolver,
  type GraphQLError,
  type GraphQLSchema,
  getNamedType,
  isLeafType,
  isObjectType,
} from 'graphql';
import { refusal } from './errors.ts';

/** How much an answer of GraphQL may have, in bytes of JSON. */
export const LARGEST_ANSWER_BYTES = 32 * 1024 * 1024;

/** What an answer has so far. Left out where nothing is counted: a subscription has no end. */
export interface AnswerSize {
  readonly maxBytes: number;
  bytes: number;
}

export function createAnswerSize(maxBytes = LARGEST_ANSWER_BYTES): AnswerSize {
  return { maxBytes, bytes: 0 };
}

export function isTooLarge({ bytes, maxBytes }: AnswerSize): boolean {
  return bytes > maxBytes;
}

export function answerTooLarge({ maxBytes }: AnswerSize): GraphQLError {
  const most = `${Math.floor(maxBytes / (1024 * 1024))} MB`;
  const message = `The answer would be larger than ${most}. Request fewer fields or shorter pages.`;
  return refusal('ANSWER_TOO_LARGE', message);
}

interface Counting {
  readonly answerSize?: AnswerSize | undefined;
}

/**
 * Makes every field of a schema count what it gives, as it gives it: what would be too large stops there, before the rest
 * is read and written. Prices (query-cost.ts) bound what a query may hold; this bounds what it does hold.
 */
export function countAnswers(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__')) continue;
    for (const field of Object.values(type.getFields())) {
      const { resolve = defaultFieldResolver } = field;
      const isLeaf = isLeafType(getNamedType(field.type));
      const nameBytes = field.name.length + BYTES_A_VALUE;
      field.resolve = (source, args, context: Counting, info) => {
        const size = context.answerSize;
        if (size === undefined) return resolve(source, args, context, info);
        if (isTooLarge(size)) throw answerTooLarge(size);
        const value: unknown = resolve(source, args, context, info);
        size.bytes += nameBytes;
        if (!isLeaf) return value;
        return value instanceof Promise ? value.then((found) => counted(size, found)) : counted(size, value);
      };
    }
  }
  return schema;
}

function counted<Value>(size: AnswerSize, value: Value): Value {
  if (typeof value === 'string') size.bytes += value.length;
  else if (typeof value === 'object' && value !== null) size.bytes += sizeOf(value, size.maxBytes);
  if (isTooLarge(size)) throw answerTooLarge(size);
  return value;
}

/** Of everything but its text: quotes, a comma, a number. */
const BYTES_A_VALUE = 4;

/** About what a value has in JSON. Not looked into further once it is too large. */
function sizeOf(value: unknown, most: number): number {
  const left: unknown[] = [value];
  let bytes = 0;
  while (left.length > 0 && bytes <= most) {
    const one = left.pop();
    bytes += typeof one === 'string' ? one.length + BYTES_A_VALUE : BYTES_A_VALUE;
    if (typeof one !== 'object' || one === null) continue;
    for (const [name, inner] of Object.entries(one)) {
      bytes += Array.isArray(one) ? 0 : name.length;
      left.push(inner);
    }
  }
  return bytes;
}
