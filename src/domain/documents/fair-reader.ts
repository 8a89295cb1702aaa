import type { Clock } from '../../ports/clock.ts';
import type { DocumentReader, DocumentReading, UnreadableReason } from '../../ports/document-reader.ts';
import { createCompanyTurns } from './company-turns.ts';

/** The document reader of this process, which companies use by turns. */
export interface FairReader {
  read(companyId: string, bytes: Uint8Array, options?: FairReadOptions): Promise<DocumentReading>;
  close(): void;
}

interface FairReadOptions {
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
}

interface FairReaderParts {
  readonly reader: Pick<DocumentReader, 'read'>;
  readonly clock: Clock;
  /** The number of documents that the reader reads at once. */
  readonly places: number;
}

const MAX_WAITING = 64;
const WAIT_MS = 30_000;

/**
 * Failures that end a reading process or use it up to its limits. Sending such documents repeatedly could use up a
 * core.
 */
const COSTLY: ReadonlySet<UnreadableReason> = new Set(['took-too-long', 'too-much-memory', 'broken']);

export function createFairReader({ reader, clock, places }: FairReaderParts): FairReader {
  const perCompany = Math.max(1, places - 1);
  const turns = createCompanyTurns(clock, { places, perCompany, maxWaiting: MAX_WAITING, waitMs: WAIT_MS });
  return {
    async read(companyId, bytes, options) {
      const turn = await turns.run(
        companyId,
        async () => {
          const beganAtMs = clock.now();
          const reading = await reader.read(bytes);
          if (reading.outcome === 'read') turns.succeeded(companyId);
          // Pauses before the place is free again, so that the company's next document does not start in it.
          else if (reading.outcome === 'unreadable' && COSTLY.has(reading.reason))
            turns.pauseAfterFailure(companyId, clock.now() - beganAtMs);
          return reading;
        },
        options,
      );
      return turn.outcome === 'busy' ? BUSY : turn.result;
    },
    close: turns.close,
  };
}

const BUSY: DocumentReading = {
  outcome: 'busy',
  message:
    'Too many documents of your company are being read or failed a moment ago. Send it again in a while.',
};
