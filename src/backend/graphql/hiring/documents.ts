import { DOCUMENT_LIMITS } from '../../../ports/document-reader.ts';
import { badInput } from '../errors.ts';
import { bounded } from '../input.ts';
import type { Declaration } from '../schema-builder.ts';

/** The CVs and postings that clients send: pasted as text, or uploaded as a file. */
declare module '../schema-builder.ts' {
  interface SchemaInputs {
    FileInput: FileInput;
  }
}

interface FileInput {
  name: string;
  contentBase64: string;
}

/** A document as it is stored, with its text if it was pasted. */
interface GivenDocument {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly text: string | null;
}

const fileInput: Declaration = (builder) => {
  builder.inputType('FileInput', {
    description:
      'PDF, DOCX, ODT, RTF, HTML or plain text, of at most 10 MiB. The type is detected from the content.',
    fields: (t) => ({
      name: t.string({ required: true }),
      contentBase64: t.string({ required: true }),
    }),
  });
};

/** The document of an input, or null if it has none. A text and a file at once are refused. */
export function documentFrom(input: {
  readonly text?: string | null | undefined;
  readonly file?: FileInput | null | undefined;
}): GivenDocument | null {
  const { text, file } = input;
  if (typeof text === 'string' && file != null) {
    throw badInput('input.file', 'give a text or a file, not both');
  }
  if (typeof text === 'string') return pasted(text);
  return file == null ? null : uploaded(file);
}

function pasted(given: string): GivenDocument {
  const text = given.toWellFormed();
  const { maxCharacters, maxBytes } = DOCUMENT_LIMITS;
  if (text.trim() === '') throw badInput('input.text', 'it must not be empty');
  const bytes = new TextEncoder().encode(text);
  if (text.length > maxCharacters || bytes.length > maxBytes) {
    throw badInput('input.text', `at most ${maxCharacters} characters are taken`);
  }
  return { name: 'pasted.txt', bytes, text };
}

function uploaded({ name: givenName, contentBase64 }: FileInput): GivenDocument {
  const name = bounded('line', 'input.file.name', givenName);
  const { maxBytes } = DOCUMENT_LIMITS;
  // Base64 has four characters for three bytes, plus line breaks.
  if (contentBase64.length > maxBytes * 1.5) throw tooLarge(maxBytes);
  const bytes = fromBase64(contentBase64);
  if (bytes === null) throw badInput('input.file.contentBase64', 'this is not base64');
  if (bytes.length === 0) throw badInput('input.file.contentBase64', 'the file is empty');
  if (bytes.length > maxBytes) throw tooLarge(maxBytes);
  return { name, bytes, text: null };
}

function tooLarge(maxBytes: number) {
  return badInput('input.file.contentBase64', `a file may have at most ${maxBytes} bytes`);
}

function fromBase64(text: string): Uint8Array | null {
  try {
    return Uint8Array.fromBase64(text);
  } catch {
    return null;
  }
}

export const documentDeclarations: readonly Declaration[] = [fileInput];
