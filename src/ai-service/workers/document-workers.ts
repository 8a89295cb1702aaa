import type { ParsedText, ParseKind } from '../../domain/documents/document-engine.ts';
import type { FairReader } from '../../domain/documents/fair-reader.ts';
import type { TextParser } from '../../domain/documents/parse-text.ts';
import { DOCUMENT_QUEUE } from '../../domain/jobs/job-changes.ts';
import {
  applyPostingReading,
  findWaitingPosting,
  POSTING_GAVE_UP,
  type PostingReading,
  type ReadPosting,
} from '../../domain/jobs/read-posting.ts';
import { type PlatformCalls, releasedOnFailure } from '../../domain/model-calls/platform-calls.ts';
import type { Alias } from '../../domain/models/aliases.ts';
import { applyCvReading, CV_GAVE_UP, type CvReading, findWaitingCv } from '../../domain/talents/read-cv.ts';
import { CV_QUEUE } from '../../domain/talents/talent-changes.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Database, Transaction } from '../../ports/database.ts';
import type { JobHandler, QueueWork } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';

interface DocumentWorkParts extends DocumentReadingParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * CVs and postings. A job occupies its place while it waits for its company's turn at the reader, so a company gets at
 * most half of the places, and the other half remains for others.
 */
const PLACES = { concurrency: 6, perOwner: 3 };

export function documentWork(parts: DocumentWorkParts): readonly QueueWork[] {
  const workers = { ...parts, reading: createDocumentReading(parts) };
  return [
    { queue: CV_QUEUE, reportedAs: 'cv_worker', ...PLACES, handler: createCvWorker(workers) },
    {
      queue: DOCUMENT_QUEUE,
      reportedAs: 'document_worker',
      ...PLACES,
      handler: createDocumentWorker(workers),
    },
  ];
}

/** A company's document that a worker is processing. */
interface DocumentToRead {
  readonly kind: ParseKind;
  readonly companyId: string;
  readonly bytes: Uint8Array;
  /** Identifies the job in the record of the call. */
  readonly requestId: string;
  readonly signal: AbortSignal;
}

type ReadDocument =
  | {
      readonly outcome: 'read';
      readonly text: string;
      readonly parsed: ParsedText;
      readonly engine: 'model' | 'embedded';
      /** Must be called in the transaction that stores the record. */
      charge(transaction: Transaction): Promise<void>;
      /** Must be called after that transaction, whatever its outcome. */
      release(): Promise<void>;
    }
  /** Permanent, with a sentence for the sender of the document. */
  | { readonly outcome: 'unreadable'; readonly problem: string };

interface DocumentReading {
  /** Rejects if a later attempt may succeed. */
  read(document: DocumentToRead): Promise<ReadDocument>;
}

interface DocumentReadingParts {
  readonly reader: Pick<FairReader, 'read'>;
  readonly parser: TextParser;
  readonly platformCalls: PlatformCalls;
  /** The alias that reads documents. */
  readonly extractAlias: () => Alias;
}

/** A company whose documents fail is paused for up to five minutes; a run may take ten. */
const WAIT_MS = 6 * 60_000;

/** From bytes to a record: extracts the text, checks the company's credits, and asks a model or the embedded engine. */
export function createDocumentReading(parts: DocumentReadingParts): DocumentReading {
  const { reader, parser, platformCalls, extractAlias } = parts;
  return {
    async read({ kind, companyId, bytes, requestId, signal }) {
      const reading = await reader.read(companyId, bytes, { signal, waitMs: WAIT_MS });
      switch (reading.outcome) {
        case 'busy':
          throw new Error('the document reader is busy');
        case 'too-large':
        case 'unreadable':
          return { outcome: 'unreadable', problem: reading.message };
        case 'read':
      }
      signal.throwIfAborted();
      const { text, warnings } = reading;
      const alias = extractAlias();
      const endpoint = `parse/${kind}`;
      const bodyBytes = text.length;
      const call = await platformCalls.begin({ companyId, alias, endpoint, requestId, bodyBytes });
      return await releasedOnFailure(call, async () => {
        const { alias: own, fallbacks, mayAsk } = call;
        const document = await parser.parse({ companyId, kind, text, alias: own, fallbacks, signal, mayAsk });
        signal.throwIfAborted();
        const { parsed, engine } = document;
        return {
          outcome: 'read',
          text,
          parsed: withWarnings(parsed, warnings),
          engine,
          charge: (transaction) => call.charge(transaction, document),
          release: call.release,
        };
      });
    },
  };
}

/** Adds the reader's warnings, about what it omitted or guessed, to those of the engine. */
function withWarnings(parsed: ParsedText, warnings: readonly string[]): ParsedText {
  if (warnings.length === 0) return parsed;
  const { document } = parsed;
  return { ...parsed, document: { ...document, warnings: [...warnings, ...document.warnings] } };
}

interface WorkerParts {
  readonly database: Database;
  readonly reading: DocumentReading;
  readonly clock: Clock;
  readonly log: Log;
}

const NOT_A_CV = 'This document does not look like a CV. Send the CV itself, or fill in the profile by hand.';
const NOT_A_POSTING =
  'This document does not look like a job posting. Send the posting itself, or fill in the fields by hand.';

/** Processes a CV, from the queue to a profile. */
export function createCvWorker({ database, reading, clock, log }: WorkerParts): JobHandler {
  return async (job) => {
    const waiting = await findWaitingCv(database, String(job.data.talentId));
    if (waiting === null) return;
    const { talentId, companyId, bytes } = waiting;
    await processDocument<CvReading>({ reading, log }, job, {
      ...{ kind: 'cv', name: 'CV', ids: { talentId }, companyId, bytes },
      ...{ retries: CV_QUEUE.retries, gaveUp: CV_GAVE_UP },
      resultOf: cvReadingOf,
      store: (result, charge) => applyCvReading({ database, clock }, waiting, result, charge),
    });
  };
}

/** Processes a posting, from the queue to a job's fields. */
export function createDocumentWorker({ database, reading, clock, log }: WorkerParts): JobHandler {
  return async (job) => {
    const waiting = await findWaitingPosting(database, String(job.data.jobId));
    if (waiting === null) return;
    const { jobId, companyId, bytes } = waiting;
    await processDocument<PostingReading>({ reading, log }, job, {
      ...{ kind: 'jd', name: 'posting', ids: { jobId }, companyId, bytes },
      ...{ retries: DOCUMENT_QUEUE.retries, gaveUp: POSTING_GAVE_UP },
      resultOf: postingReadingOf,
      store: (result, charge) => applyPostingReading({ database, clock }, waiting, result, charge),
    });
  };
}

function cvReadingOf({ text, parsed, engine }: Extract<ReadDocument, { outcome: 'read' }>): CvReading {
  const { value: profile, evidence, document } = parsed;
  if (profile === null) return { outcome: 'failed', problem: NOT_A_CV, text };
  return { outcome: 'read', text, profile, evidence, document, engine };
}

function postingReadingOf({ parsed, engine }: Extract<ReadDocument, { outcome: 'read' }>): PostingReading {
  const { value } = parsed;
  if (value === null) return { outcome: 'failed', problem: NOT_A_POSTING };
  return { outcome: 'read', posting: value as unknown as ReadPosting & typeof value, engine };
}

/** A document that waits to be read, and where its result is stored. */
interface WaitingDocument<Result> {
  readonly kind: ParseKind;
  /** What log messages call it. */
  readonly name: string;
  /** Identifies it in log entries. */
  readonly ids: Readonly<Record<string, string>>;
  readonly companyId: string;
  readonly bytes: Uint8Array;
  /** Of its queue. */
  readonly retries: number;
  /** The problem that is stored after the last attempt. */
  readonly gaveUp: string;
  resultOf(read: Extract<ReadDocument, { outcome: 'read' }>): Result;
  /** Writes only while the document still waits. `charge` runs in the same transaction. */
  store(
    result: Result | { readonly outcome: 'failed'; readonly problem: string },
    charge?: (transaction: Transaction) => Promise<void>,
  ): Promise<{ readonly outcome: string }>;
}

/**
 * Reads a document and stores its result. All steps but the last can be repeated: only the last one writes, the result
 * and the charge of its call in one transaction, and only while the document still waits for it. A worker may therefore
 * crash at any point. An unreadable document is FAILED immediately and blocks no other; a temporary failure is retried
 * by the queue, and after the last attempt it is FAILED with a dead letter, which can be run again.
 */
async function processDocument<Result>(
  { reading, log }: Pick<WorkerParts, 'reading' | 'log'>,
  { id: requestId, attempt, signal }: Parameters<JobHandler>[0],
  document: WaitingDocument<Result>,
): Promise<void> {
  const { kind, name, ids, companyId, bytes } = document;
  async function readAndStore(): Promise<void> {
    const read = await reading.read({ kind, companyId, bytes, requestId, signal });
    if (read.outcome === 'unreadable') {
      await document.store({ outcome: 'failed', problem: read.problem });
      log.info(`a ${name} cannot be read`, { ...ids, reason: read.problem });
      return;
    }
    try {
      const { outcome } = await document.store(document.resultOf(read), read.charge);
      log.info(`a ${name} was read`, { ...ids, engine: read.engine, outcome });
    } finally {
      await read.release();
    }
  }
  try {
    await readAndStore();
  } catch (error) {
    if (attempt > document.retries && !signal.aborted)
      await document.store({ outcome: 'failed', problem: document.gaveUp });
    throw error;
  }
}
