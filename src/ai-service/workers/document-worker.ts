import { DOCUMENT_QUEUE } from '../../domain/jobs/document-queue.ts';
import type { ReadPosting } from '../../domain/jobs/posting-fields.ts';
import {
  applyReading,
  findWaitingPosting,
  GAVE_UP,
  type PostingReading,
} from '../../domain/jobs/read-posting.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Database } from '../../ports/database.ts';
import type { JobHandler } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import type { DocumentReading, ReadDocument } from './document-reading.ts';

export interface DocumentWorkerParts {
  readonly database: Database;
  readonly reading: DocumentReading;
  readonly clock: Clock;
  readonly log: Log;
}

const NOT_A_POSTING =
  'This document does not look like a job posting. Send the posting itself, or fill in the fields by hand.';

/** A posting, from the queue to a job's fields, in the manner of the CV worker: see there. */
export function createDocumentWorker({ database, reading, clock, log }: DocumentWorkerParts): JobHandler {
  return async ({ id: requestId, data, attempt, signal }) => {
    const waiting = await findWaitingPosting(database, String(data.jobId));
    if (waiting === null) return;
    const { jobId, companyId, bytes } = waiting;
    let read: ReadDocument;
    try {
      read = await reading.read({ kind: 'jd', companyId, bytes, requestId, signal });
    } catch (error) {
      if (attempt > DOCUMENT_QUEUE.retries && !signal.aborted) {
        await applyReading({ database, clock }, waiting, { outcome: 'failed', problem: GAVE_UP });
      }
      throw error;
    }
    if (read.outcome === 'unreadable') {
      await applyReading({ database, clock }, waiting, { outcome: 'failed', problem: read.problem });
      log.info('a posting cannot be read', { jobId, reason: read.problem });
      return;
    }
    try {
      const applied = await applyReading({ database, clock }, waiting, readingOf(read), read.charge);
      const { engine } = read;
      log.info('a posting was read', { jobId, engine, outcome: applied.outcome });
    } finally {
      await read.release();
    }
  };
}

function readingOf({ parsed, engine }: Extract<ReadDocument, { outcome: 'read' }>): PostingReading {
  const { value } = parsed;
  if (value === null) return { outcome: 'failed', problem: NOT_A_POSTING };
  return { outcome: 'read', posting: value as unknown as ReadPosting & typeof value, engine };
}
