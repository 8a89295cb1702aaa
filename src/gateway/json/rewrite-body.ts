import { joinBytes } from '../../http/bytes.ts';
import type { Span } from './hosted-parts.ts';
import type { ModelBodyFields } from './request-body.ts';

/** The changes to the client's body for the upstream. */
export interface BodyChanges {
  /** The provider's name of the model. */
  readonly model: string;
  /** Added if the body has no maximum; null adds nothing. */
  readonly maxTokens?: number | null;
  /** The name of the added field. */
  readonly maxTokensName?: 'max_tokens' | 'max_completion_tokens' | 'max_output_tokens' | undefined;
  /** False if `stream_options` is not supported; then every stream includes its usage. */
  readonly hasStreamOptions?: boolean | undefined;
}

/**
 * Rewrites the body for the upstream: the provider's name of the model; for a stream `include_usage`, because charges are
 * based on it; and a maximum if the operator enforces one. All other bytes are the client's.
 */
export function rewriteModelBody(
  bytes: Uint8Array,
  fields: ModelBodyFields,
  {
    model: providerModel,
    maxTokens = null,
    maxTokensName = 'max_tokens',
    hasStreamOptions = true,
  }: BodyChanges,
): Uint8Array<ArrayBuffer> {
  const splices = [{ span: fields.modelValue, bytes: encodedText(JSON.stringify(providerModel)) }];
  if (maxTokens !== null && fields.maxTokens === null) {
    splices.push(maximumSplice(fields, maxTokens, maxTokensName));
  }
  if (fields.stream && hasStreamOptions) splices.push(usageSplice(fields));
  // Insertions at the closing brace keep their order, because the sort is stable.
  if (splices.length > 1) splices.sort((one, other) => one.span.start - other.span.start);
  return spliced(bytes, splices);
}

/** Bytes that replace a span of the body; an empty span is an insertion. */
interface Splice {
  readonly span: Span;
  readonly bytes: Uint8Array;
}

function usageSplice({ streamOptions, closingBrace }: ModelBodyFields): Splice {
  // The comma is always right, because every body has at least its model.
  if (streamOptions === null) return insertion(closingBrace, ',"stream_options":{"include_usage":true}');
  switch (streamOptions.found) {
    case 'null':
      return { span: streamOptions.value, bytes: encodedText('{"include_usage":true}') };
    case 'object-without-usage':
      return insertion(
        streamOptions.closingBrace,
        streamOptions.isEmpty ? '"include_usage":true' : ',"include_usage":true',
      );
    case 'usage':
      // If it is already true, this changes nothing.
      return { span: streamOptions.value, bytes: encodedText('true') };
  }
}

function maximumSplice(
  { nullMaxTokens, closingBrace }: ModelBodyFields,
  maxTokens: number,
  name: string,
): Splice {
  if (nullMaxTokens === null) return insertion(closingBrace, `,"${name}":${maxTokens}`);
  return { span: nullMaxTokens, bytes: encodedText(String(maxTokens)) };
}

function insertion(at: number, text: string): Splice {
  return { span: { start: at, end: at }, bytes: encodedText(text) };
}

const ENCODER = new TextEncoder();

function encodedText(text: string): Uint8Array {
  return ENCODER.encode(text);
}

/** One allocation of the final size and one copy of each part. The splices are in the order of the body. */
function spliced(bytes: Uint8Array, splices: readonly Splice[]): Uint8Array<ArrayBuffer> {
  const pieces: Uint8Array[] = [];
  let length = bytes.length;
  let read = 0;
  for (const { span, bytes: inserted } of splices) {
    pieces.push(bytes.subarray(read, span.start), inserted);
    length += inserted.length - (span.end - span.start);
    read = span.end;
  }
  pieces.push(bytes.subarray(read));
  return joinBytes(pieces, length);
}
