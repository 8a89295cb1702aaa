import { type CallSize, sizeOfText } from '../../domain/model-calls/paid-call.ts';
import type { MemoryShare } from '../../http/memory-limit.ts';
import { type CountedBodyBounds, readBody, tooLargeMessage } from '../../http/read-body.ts';
import { readJson as readBodyJson, TOO_DEEP } from '../../http/read-json.ts';
import { DOCUMENT_LIMITS } from '../../ports/document-reader.ts';
import { isObject } from '../../ports/json-object.ts';
import type { BodyAttribution } from '../json/body-attribution.ts';
import { TOO_MANY_LARGE } from './read-call-body.ts';
import type { Refusal } from './refusals.ts';

/** What to parse: a text as it is, or a file whose text has yet to be extracted. */
export type ParseInput =
  | { readonly text: string }
  | { readonly file: Uint8Array<ArrayBuffer>; readonly name: string | null };

/** The fields of a parse call's body that the gateway needs. */
export interface ParseFields {
  /** Null is the default alias. */
  readonly model: string | null;
  readonly stream: false;
  readonly input: ParseInput;
  /** An estimate before a file is read: its size does not show how much text it has. */
  readonly size: CallSize;
  readonly attribution: BodyAttribution | null;
}

type ReadParseBody =
  | {
      outcome: 'read';
      bytes: Uint8Array<ArrayBuffer>;
      fields: ParseFields;
      share?: MemoryShare | undefined;
    }
  | { outcome: 'refused'; refusal: Refusal };

/** Most of a file is layout, fonts and images: a CV of ten pages has this much text. */
const MOST_ESTIMATED_OF_FILE = 40_000;
const LONGEST_NAME = 1_000;
const JSON_BODY = /^application\/([\w.-]+\+)?json\b/i;
const FORM_BODY = /^multipart\/form-data\b/i;

/** G-7: JSON with `text` or `file`, or a form with the same. The file itself is examined later, by its reader. */
export async function readParseBody(
  request: Request,
  bounds: CountedBodyBounds,
  companyId: string,
): Promise<ReadParseBody> {
  const contentType = request.headers.get('content-type') ?? 'application/json';
  const isForm = FORM_BODY.test(contentType);
  if (!isForm && !JSON_BODY.test(contentType)) {
    return invalid('Send the body as application/json or as multipart/form-data.');
  }
  const body = await readBody(request, bounds, companyId);
  switch (body.outcome) {
    case 'too-large':
      return tooLarge(tooLargeMessage(request, bounds.maxBytes));
    case 'too-slow':
      return { outcome: 'refused', refusal: { name: 'tooSlow' } };
    case 'unknown-encoding':
      return { outcome: 'refused', refusal: { name: 'unsupportedEncoding' } };
    case 'broken':
      return invalid(body.problem ?? 'The body is incomplete or broken.');
    case 'memory-full':
      return { outcome: 'refused', refusal: TOO_MANY_LARGE };
    case 'read': {
      const { bytes, share } = body;
      const parsed = isForm ? await readForm(bytes, contentType) : readParseJson(bytes);
      if (parsed.outcome === 'read') return { ...parsed, share };
      share?.release();
      return parsed;
    }
  }
}

export function readParseJson(bytes: Uint8Array<ArrayBuffer>): ReadParseBody {
  const json = readBodyJson(bytes);
  if (json.outcome === 'too-deep') return invalid(TOO_DEEP);
  const given = json.outcome === 'read' ? json.value : undefined;
  if (!isObject(given)) return invalid('The body must be a JSON object with "text" or "file".');
  return withUser(readInput(bytes, given), given.user);
}

function readInput(bytes: Uint8Array<ArrayBuffer>, given: Record<string, unknown>): ReadParseBody {
  const { text, file, model } = given;
  if (model != null && typeof model !== 'string') return invalid('model must be a string.', 'model');
  if (text != null && file != null) return invalid('Give text or file, not both.', 'file');
  if (text != null)
    return typeof text === 'string' ? ofText(bytes, text, model) : invalid('text must be a string.', 'text');
  if (!isObject(file)) return invalid('text is missing, or a file with name and content_base64.', 'text');
  const { name, content_base64: content } = file;
  if (name != null && typeof name !== 'string') return invalid('file.name must be a string.', 'file.name');
  if (typeof content !== 'string') return invalid('file.content_base64 is missing.', 'file.content_base64');
  const decoded = fromBase64(content);
  if (decoded === null) return invalid('file.content_base64 is not base64.', 'file.content_base64');
  return ofFile(bytes, decoded, name ?? null, model);
}

async function readForm(bytes: Uint8Array<ArrayBuffer>, contentType: string): Promise<ReadParseBody> {
  let form: FormData;
  try {
    form = await new Response(bytes, { headers: { 'content-type': contentType } }).formData();
  } catch {
    return invalid('The form could not be parsed: send multipart/form-data with its boundary.');
  }
  const [file, text, model] = [form.get('file'), form.get('text'), form.get('model')];
  if (model !== null && typeof model !== 'string') return invalid('model must be a text.', 'model');
  if (file !== null && text !== null) return invalid('Give text or file, not both.', 'file');
  if (file instanceof Blob) {
    const content = new Uint8Array(await file.arrayBuffer());
    return withUser(
      ofFile(bytes, content, 'name' in file ? String(file.name) : null, model),
      form.get('user'),
    );
  }
  const given = text ?? file;
  if (typeof given !== 'string') return invalid('The form must contain a file or a text.', 'file');
  return withUser(ofText(bytes, given, model), form.get('user'));
}

function withUser(parsed: ReadParseBody, user: unknown): ReadParseBody {
  if (parsed.outcome !== 'read' || typeof user !== 'string') return parsed;
  const attribution = { user, safetyIdentifier: null, tags: [] };
  return { ...parsed, fields: { ...parsed.fields, attribution } };
}

function ofText(
  bytes: Uint8Array<ArrayBuffer>,
  given: string,
  model: string | null | undefined,
): ReadParseBody {
  const text = given.toWellFormed();
  if (text.trim() === '') return invalid('text is empty.', 'text');
  const { maxCharacters } = DOCUMENT_LIMITS;
  if (text.length > maxCharacters) {
    return tooLarge(`text has ${text.length} characters, and ${maxCharacters} are allowed.`, 'text');
  }
  return read(bytes, model, { text }, sizeOfText(text.length));
}

function ofFile(
  bytes: Uint8Array<ArrayBuffer>,
  file: Uint8Array<ArrayBuffer>,
  name: string | null,
  model: string | null | undefined,
): ReadParseBody {
  if (file.length === 0) return invalid('The file is empty.', 'file');
  const { maxBytes } = DOCUMENT_LIMITS;
  if (file.length > maxBytes) {
    return tooLarge(`The file has ${file.length} bytes, and ${maxBytes} are allowed.`, 'file');
  }
  const size = { ...sizeOfText(Math.min(file.length, MOST_ESTIMATED_OF_FILE)), refersOutside: true };
  return read(bytes, model, { file, name: name?.slice(0, LONGEST_NAME) ?? null }, size);
}

function read(
  bytes: Uint8Array<ArrayBuffer>,
  model: string | null | undefined,
  input: ParseInput,
  size: CallSize,
): ReadParseBody {
  return {
    outcome: 'read',
    bytes,
    fields: { model: model ?? null, stream: false, input, size, attribution: null },
  };
}

function invalid(message: string, param: string | null = null): ReadParseBody {
  return { outcome: 'refused', refusal: { name: 'invalidRequest', message, param } };
}

function tooLarge(message: string, param: string | null = null): ReadParseBody {
  return { outcome: 'refused', refusal: { name: 'tooLarge', message, param } };
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.fromBase64(text);
  } catch {
    return null;
  }
}
