import type { Span } from './body-members.ts';
import type { ModelBodyFields } from './model-body.ts';

/** Bytes that stand in for a span of the body; an empty span is an insertion. */
interface Splice {
  readonly span: Span;
  readonly bytes: Uint8Array;
}

/**
 * The body as the upstream gets it: the provider's name of the model, and on a stream `include_usage`, without which
 * there would be nothing to bill by. Every other byte is the client's.
 */
export function rewriteModelBody(
  bytes: Uint8Array,
  fields: ModelBodyFields,
  providerModel: string,
): Uint8Array<ArrayBuffer> {
  const model = { span: fields.modelValue, bytes: encoded(JSON.stringify(providerModel)) };
  if (!fields.stream) return spliced(bytes, [model]);
  const usage = usageSplice(fields);
  return spliced(bytes, usage.span.start < model.span.start ? [usage, model] : [model, usage]);
}

function usageSplice({ streamOptions, closingBrace }: ModelBodyFields): Splice {
  // No comma is missing: a body that was read has at least its model.
  if (streamOptions === null) return insertion(closingBrace, ',"stream_options":{"include_usage":true}');
  switch (streamOptions.found) {
    case 'null':
      return { span: streamOptions.value, bytes: encoded('{"include_usage":true}') };
    case 'object-without-usage':
      return insertion(
        streamOptions.closingBrace,
        streamOptions.isEmpty ? '"include_usage":true' : ',"include_usage":true',
      );
    case 'usage':
      // Where it is true already, true for true.
      return { span: streamOptions.value, bytes: encoded('true') };
  }
}

function insertion(at: number, text: string): Splice {
  return { span: { start: at, end: at }, bytes: encoded(text) };
}

function encoded(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** One allocation of the final size and one copy of each part; the splices stand in the body's order. */
function spliced(bytes: Uint8Array, splices: readonly Splice[]): Uint8Array<ArrayBuffer> {
  let length = bytes.length;
  for (const { span, bytes: inserted } of splices) length += inserted.length - (span.end - span.start);
  const result = new Uint8Array(length);
  let read = 0;
  let written = 0;
  for (const { span, bytes: inserted } of splices) {
    result.set(bytes.subarray(read, span.start), written);
    written += span.start - read;
    result.set(inserted, written);
    written += inserted.length;
    read = span.end;
  }
  result.set(bytes.subarray(read), written);
  return result;
}
