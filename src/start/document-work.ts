import { createCvWorker } from '../ai-service/workers/cv-worker.ts';
import { createDocumentReading } from '../ai-service/workers/document-reading.ts';
import { createDocumentWorker } from '../ai-service/workers/document-worker.ts';
import { createPlatformCalls } from '../ai-service/workers/platform-calls.ts';
import { DOCUMENT_QUEUE } from '../domain/jobs/document-queue.ts';
import { aliasOf } from '../domain/models/aliases.ts';
import { CV_QUEUE } from '../domain/talents/cv-queue.ts';
import type { Work } from './jobs.ts';
import type { ModelParts } from './open-models.ts';
import type { Opening } from './start-service.ts';

/** The CV worker and the document worker, which reads postings. */
export function documentWork(opening: Opening, modelParts: ModelParts): readonly Work[] {
  const { database, clock, secrets, configuration } = opening;
  const log = opening.log.with({ service: 'ai-service' });
  const { models, reader, parser, limits, holds, standings } = modelParts;
  const name = aliasOf(configuration.aliasPrefix, 'extract-default');
  const reading = createDocumentReading({
    reader,
    parser,
    platformCalls: createPlatformCalls({ limits, holds, standings, secrets, clock }),
    extractAlias() {
      const alias = models.find(name);
      if (alias === null) throw new Error(`there is no alias ${name}`);
      return alias;
    },
  });
  const parts = { database, reading, clock, log };
  return [
    // As many as the reader has processes.
    { queue: CV_QUEUE, board: 'cv_worker', concurrency: 2, handler: createCvWorker(parts) },
    { queue: DOCUMENT_QUEUE, board: 'document_worker', concurrency: 2, handler: createDocumentWorker(parts) },
  ];
}
