import {
  defaultFieldResolver,
  type GraphQLError,
  type GraphQLSchema,
  getNamedType,
  isLeafType,
  isObjectType,
} from 'graphql';
import { refusal } from './errors.ts';

/** The largest response of GraphQL, in bytes of JSON. */
const LARGEST_ANSWER_BYTES = 32 * 1024 * 1024;

/** The size of the response so far. Not counted for subscriptions, which have no end. */
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
 * Makes every field of a schema add what it returns to the response's size. A response that becomes too large stops
 * there, before the rest is read and written. The query cost (query-cost.ts) limits what a query may return; this
 * limits what it does return.
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

/** Everything besides the text: quotes, a comma, a number. */
const BYTES_A_VALUE = 4;

/** The approximate size of a value in JSON. Stops counting once it exceeds `most`. */
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
