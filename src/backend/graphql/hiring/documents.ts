import {
  type JobFieldName,
  type JobFields,
  type JobStatus,
  LONGEST_DESCRIPTION,
} from '../../../domain/jobs/job.ts';
import { titleBeforeReading } from '../../../domain/jobs/read-posting.ts';
import { DOCUMENT_LIMITS } from '../../../ports/document-reader.ts';
import { badInput } from '../errors.ts';
import { bounded } from '../input.ts';

/** Inputs that more than one operation takes, by the names of the schema. */
export interface SchemaInputs {
  FileInput: FileInput;
  JobInput: JobInput;
}

interface FileInput {
  name: string;
  contentBase64: string;
}

interface JobInput {
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
interface GivenDocument {
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

/** What a posting says, read at once and for nothing; without the fields that it does not say. */
export type DraftPosting = (text: string) => Promise<Partial<JobFields>>;

/**
 * What a job says until the document worker has read its document: of a pasted text what the embedded engine finds in
 * some milliseconds, of a file its name.
 */
export async function draftOf(
  draftPosting: DraftPosting,
  document: GivenDocument,
): Promise<Partial<JobFields>> {
  const { text } = document;
  const title = titleBeforeReading(document, text);
  if (text === null) return { title };
  const description = text.replaceAll('\0', '').trim().slice(0, LONGEST_DESCRIPTION).toWellFormed();
  return { title, description, ...(await draftPosting(description)) };
}
