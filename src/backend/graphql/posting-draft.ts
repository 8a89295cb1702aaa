import type { JobFields } from '../../domain/jobs/job.ts';
import { titleBeforeReading } from '../../domain/jobs/posting-fields.ts';
import { LONGEST_DESCRIPTION } from '../../domain/jobs/wanted-job.ts';
import type { GivenDocument } from './document-input.ts';

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
