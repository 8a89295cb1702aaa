import type { DraftPosting } from '../backend/graphql/posting-draft.ts';
import { fieldsOfPosting, type ReadPosting } from '../domain/jobs/posting-fields.ts';
import { openEngine } from './open-engine.ts';
import type { Opening } from './start-service.ts';

/** A pasted posting, by the embedded engine. Where that fails there is no draft: the document worker reads it anyway. */
export function openDraftPosting(opening: Opening): DraftPosting {
  const engine = openEngine(opening);
  return async (text) => {
    try {
      const { value } = await engine.read('jd', text);
      return value === null ? {} : fieldsOfPosting(value as unknown as ReadPosting);
    } catch (error) {
      opening.log.warn('a posting could not be read at once', { error });
      return {};
    }
  };
}
