import type { JobFieldName, JobStatus } from '../../domain/jobs/job.ts';
import { DOCUMENT_LIMITS } from '../../ports/document-reader.ts';
import { bounded } from './bounded-input.ts';
import { badInput } from './refusals.ts';

/** Inputs that more than one operation takes, by the names of the schema. */
export interface SchemaInputs {
  FileInput: FileInput;
  JobInput: JobInput;
}

export interface FileInput {
  name: string;
  contentBase64: string;
}

export interface JobInput {
  title?: string | null;
  description?: string | null;
  text?: string | null;
  file?: FileInput | null;
  status?: JobStatus | null;
  location?: string | null;
  remote?: boolean | null;
  employmentType?: string | null;
  mustHave?: string[] | null;
  niceToHave?: string[] | null;
  minMonthsExperience?: number | null;
}

/** A document as it is kept; its text where it came as one. */
export interface GivenDocument {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly text: string | null;
}

/** A document that was pasted as text or uploaded as a file; null where neither was given. Never both. */
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
  // Four characters for three bytes, and some line breaks.
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

/** A job's field as the one that a client filled in. */
export function jobInputField(field: JobFieldName): string {
  return `input.${field}`;
}
