import { CV_QUEUE } from '../../domain/talents/cv-queue.ts';
import { applyCvReading, type CvReading, findWaitingCv, GAVE_UP } from '../../domain/talents/read-cv.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Database } from '../../ports/database.ts';
import type { JobHandler } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import type { DocumentReading, ReadDocument } from './document-reading.ts';

export interface CvWorkerParts {
  readonly database: Database;
  readonly reading: DocumentReading;
  readonly clock: Clock;
  readonly log: Log;
}

const NOT_A_CV = 'This document does not look like a CV. Send the CV itself, or fill in the profile by hand.';

/**
 * A CV, from the queue to a profile. Everything before the last step may be repeated: only there something is written,
 * the profile and the charge of its call in one transaction, and only while the talent still waits for it. So a worker
 * may die anywhere. What cannot be read is FAILED at once and holds up nobody; what may go better later is tried again
 * by the queue, and past the last try it is FAILED with a dead letter, whose next run counts again.
 */
export function createCvWorker({ database, reading, clock, log }: CvWorkerParts): JobHandler {
  return async ({ id: requestId, data, attempt, signal }) => {
    const waiting = await findWaitingCv(database, String(data.talentId));
    if (waiting === null) return;
    const { talentId, companyId, bytes } = waiting;
    let read: ReadDocument;
    try {
      read = await reading.read({ kind: 'cv', companyId, bytes, requestId, signal });
    } catch (error) {
      if (attempt > CV_QUEUE.retries && !signal.aborted) {
        await applyCvReading({ database, clock }, waiting, { outcome: 'failed', problem: GAVE_UP });
      }
      throw error;
    }
    if (read.outcome === 'unreadable') {
      await applyCvReading({ database, clock }, waiting, { outcome: 'failed', problem: read.problem });
      log.info('a CV cannot be read', { talentId, reason: read.problem });
      return;
    }
    try {
      const applied = await applyCvReading({ database, clock }, waiting, readingOf(read), read.charge);
      const { engine } = read;
      log.info('a CV was read', { talentId, engine, outcome: applied.outcome });
    } finally {
      await read.release();
    }
  };
}

function readingOf({ text, parsed, engine }: Extract<ReadDocument, { outcome: 'read' }>): CvReading {
  const { value: profile, evidence, document } = parsed;
  if (profile === null) return { outcome: 'failed', problem: NOT_A_CV, text };
  return { outcome: 'read', text, profile, evidence, document, engine };
}
