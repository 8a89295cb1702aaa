import { EngineBusy, type ParsedText, type ParseKind } from '../../domain/documents/document-engine.ts';
import type { FairReader } from '../../domain/documents/fair-reader.ts';
import type { ParsedDocument, TextParser } from '../../domain/documents/parse-text.ts';
import { endingOf } from '../../domain/model-calls/paid-call.ts';
import type { AdmittedParse } from '../admission/admit.ts';
import type { ParseInput } from '../admission/read-parse-body.ts';
import { type Refusal, refusalResponse, refusalStatus } from '../admission/refusals.ts';
import { createEnd, type EndCall, type EndParts, failure, type ModelCallContext } from './end-call.ts';

export interface ParseParts extends EndParts {
  readonly reader: Pick<FairReader, 'read'>;
  readonly parser: TextParser;
}

const BUSY_RETRY_MS = 2_000;
const ENGINE_BUSY: Refusal = {
  name: 'unavailable',
  message: 'Too many documents of your company are being parsed right now. Retry shortly.',
  retryAfterMs: BUSY_RETRY_MS,
};

/**
 * G-7, G-8: runs an admitted parse call, from its document to its record. The response waits for the call's commit like
 * any model call's, and the call is charged once however often a model was called for it.
 */
export async function answerParse(
  parts: ParseParts,
  call: AdmittedParse,
  context: ModelCallContext,
): Promise<Response> {
  const end = createEnd(parts, call, context);
  try {
    return await answerRead(parts, call, context, end);
  } catch (error) {
    const hasLeft = context.clientSignal.aborted;
    if (!hasLeft && error instanceof EngineBusy) {
      await end(failure('busy', 503, null));
      return refusalResponse(ENGINE_BUSY, context.headers);
    }
    await end(failure(hasLeft ? 'client-left' : 'internal', hasLeft ? 499 : 503, null));
    if (!hasLeft) throw error;
    return refusalResponse({ name: 'unavailable' }, context.headers);
  }
}

async function answerRead(
  { reader, parser }: ParseParts,
  call: AdmittedParse,
  context: ModelCallContext,
  end: EndCall,
): Promise<Response> {
  const { clientSignal: signal, startedAtMs } = context;
  const { companyId } = call.key;
  const text = await textOf(reader, companyId, call.fields.input, signal);
  if (text.outcome === 'refused') {
    const { refusal } = text;
    const isWritten = await end(failure('unreadable-document', refusalStatus(refusal), null));
    return refusalResponse(isWritten ? refusal : { name: 'unavailable' }, context.headers);
  }
  const { parses: kind } = call.route;
  const { alias, fallbacks } = call;
  const document = await parser.parse({
    companyId,
    kind,
    text: text.text,
    alias,
    fallbacks,
    signal,
    mayAsk: true,
  });
  if (signal.aborted) {
    await end(failure('client-left', 499, document.targetId));
    return refusalResponse({ name: 'unavailable' }, context.headers);
  }
  const body = new TextEncoder().encode(JSON.stringify(shown(call, document, text.warnings)));
  const isWritten = await end({
    ...endingOf(document, startedAtMs),
    ...(call.claim === null ? {} : { answer: { contentType: 'application/json', bytes: body } }),
  });
  if (!isWritten) return refusalResponse({ name: 'unavailable' }, context.headers);
  return new Response(body, { headers: { ...context.headers, 'content-type': 'application/json' } });
}

type DocumentText =
  | { readonly outcome: 'read'; readonly text: string; readonly warnings: readonly string[] }
  | { readonly outcome: 'refused'; readonly refusal: Refusal };

/** A text is used unchanged, so that the evidence refers to positions in the client's text. */
async function textOf(
  reader: ParseParts['reader'],
  companyId: string,
  input: ParseInput,
  signal: AbortSignal,
): Promise<DocumentText> {
  if ('text' in input) return { outcome: 'read', text: input.text, warnings: [] };
  const reading = await reader.read(companyId, input.file, { signal });
  switch (reading.outcome) {
    case 'read':
      return { outcome: 'read', text: reading.text, warnings: reading.warnings };
    case 'too-large':
      return refused({ name: 'tooLarge', message: reading.message, param: 'file' });
    case 'unreadable':
      return refused({ name: 'invalidRequest', status: 422, message: reading.message, param: 'file' });
    case 'busy':
      return refused({ name: 'unavailable', message: reading.message, retryAfterMs: BUSY_RETRY_MS });
  }
}

function refused(refusal: Refusal): DocumentText {
  return { outcome: 'refused', refusal };
}

const OBJECTS = { cv: 'parsed_cv', jd: 'parsed_jd' } as const satisfies Record<ParseKind, string>;
const VALUES = { cv: 'profile', jd: 'posting' } as const satisfies Record<ParseKind, string>;

/** The common part of both responses; usage is what was charged. */
function shown(call: AdmittedParse, document: ParsedDocument, warnings: readonly string[]) {
  const { parses: kind } = call.route;
  const { engine, parsed, tokens } = document;
  const [prompt, completion] = [tokens?.promptTokens ?? 0, tokens?.completionTokens ?? 0];
  return {
    object: OBJECTS[kind],
    model: call.alias.alias,
    engine,
    document: factsWith(parsed, warnings),
    [VALUES[kind]]: parsed.value,
    evidence: parsed.evidence,
    usage: {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
      prompt_tokens_details: { cached_tokens: tokens?.cachedTokens ?? 0 },
    },
  };
}

function factsWith({ document }: ParsedText, warnings: readonly string[]) {
  return { ...document, warnings: [...warnings, ...document.warnings] };
}
