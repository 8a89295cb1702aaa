import { readQueueDepths } from '../../adapters/job-queue/boss-tables.ts';
import { addGenerator, NAMED_WORKERS, type WorkerBoard } from '../../ai-service/health.ts';
import { createAiService } from '../../ai-service/server.ts';
import {
  createCvWorker,
  createDocumentReading,
  createDocumentWorker,
} from '../../ai-service/workers/document-workers.ts';
import { createMatchModelCalls } from '../../ai-service/workers/match-models.ts';
import { createMeetingModel } from '../../ai-service/workers/meeting-model.ts';
import { createPlatformCalls } from '../../ai-service/workers/platform-calls.ts';
import { DOCUMENT_QUEUE } from '../../domain/jobs/job-changes.ts';
import { createSkillVocabulary } from '../../domain/matching/facts/qualifications.ts';
import { createCompanyIndexes } from '../../domain/matching/generator/company-index.ts';
import { type Generator, startGenerator } from '../../domain/matching/generator/generator.ts';
import type { PlatformModelCalls } from '../../domain/matching/generator/model-calls.ts';
import { MEETING_QUEUE, MEETING_UPKEEP_CRON, MEETING_UPKEEP_QUEUE } from '../../domain/meetings/meeting.ts';
import { createMeetingHandler } from '../../domain/meetings/process-meeting.ts';
import { createMeetingUpkeepHandler } from '../../domain/meetings/rooms.ts';
import { aliasOf } from '../../domain/models/aliases.ts';
import { CV_QUEUE } from '../../domain/talents/talent-changes.ts';
import type { Listening } from '../../http/listen.ts';
import type { JobQueue } from '../../ports/job-queue.ts';
import type { Opening, ServiceOpening } from '../processes/start-service.ts';
import { accepted } from '../settings/secrets.ts';
import type { Jobs, Work } from './background-jobs.ts';
import { mailOutbox } from './open-mail.ts';
import type { ModelParts } from './open-models.ts';
import type { Payments } from './open-payments.ts';
import { checksOf, docsFiles, openServer } from './open-server.ts';

export interface StartedAiService {
  readonly server: Listening;
  /** As the process heartbeat reports them. */
  readonly workers: { readonly board: WorkerBoard; readonly names: readonly string[] };
}

/** The AI service, every background worker and the match score generator. */
export async function startAiService(
  opening: ServiceOpening,
  modelParts: ModelParts,
  jobs: Jobs,
  payments: Payments,
): Promise<StartedAiService> {
  const { configuration, database, ownSecrets } = opening;
  const { breakers, models } = modelParts;
  const jobQueue = jobs.queue;
  const matching = await openMatching(opening, modelParts);
  const board = await jobs.startWorkers([
    ...payments.work,
    ...documentWork(opening, modelParts),
    ...meetingWork(opening, modelParts, jobQueue),
  ]);
  addGenerator(board, matching.generator);
  const app = createAiService({
    ...opening,
    ...matching,
    jobQueue,
    breakers,
    models,
    docsFiles: docsFiles(),
    queueDepths: () => readQueueDepths(database),
    log: opening.log.with({ service: 'ai-service' }),
    maxBodyBytes: configuration.maxBodyBytes,
    answerTimeoutMs: configuration.answerTimeoutMs,
    dependencies: checksOf(opening),
    pool: () => database.pool(),
    workers: board,
    circuitBreakers: breakers.states,
    internalTokens: accepted(ownSecrets, 'internalToken'),
  });
  const server = openServer(opening, 'ai-service', 'AI_PORT', configuration.ports.ai, app.fetch);
  return { server, workers: { board, names: NAMED_WORKERS } };
}

/** The CV worker and the document worker, which reads postings. */
function documentWork(opening: Opening, modelParts: ModelParts): readonly Work[] {
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

/** What is made of meetings, and their upkeep. */
function meetingWork(opening: Opening, modelParts: ModelParts, jobQueue: JobQueue): readonly Work[] {
  const { database, clock, secrets, configuration } = opening;
  const log = opening.log.with({ service: 'ai-service' });
  const { models, upstream, breakers, limits, holds, standings } = modelParts;
  const outbox = mailOutbox(opening, jobQueue);
  const model = createMeetingModel({
    ...{ models, upstream, breakers, secrets, clock, log },
    answerTimeoutMs: configuration.upstream.idleTimeoutMs,
    platformCalls: createPlatformCalls({ limits, holds, standings, secrets, clock }),
    chatAlias: () => models.find(aliasOf(configuration.aliasPrefix, 'chat-default')),
  });
  const handler = createMeetingHandler({
    ...{ database, clock, log, jobQueue, model },
    async remind(mail, within) {
      await outbox.send({ kind: 'scorecard-reminder', ...mail }, within);
    },
  });
  const upkeep = createMeetingUpkeepHandler({ database, clock, log, jobQueue, secrets });
  return [
    { queue: MEETING_QUEUE, board: 'meeting_worker', concurrency: 2, handler },
    { queue: MEETING_UPKEEP_QUEUE, concurrency: 1, cron: MEETING_UPKEEP_CRON, handler: upkeep },
  ];
}

interface Matching {
  readonly generator: Generator;
  readonly modelCalls: PlatformModelCalls;
}

/** The match score generator of this process. It is closed before the models that it asks. */
async function openMatching(opening: Opening, modelParts: ModelParts): Promise<Matching> {
  const { database, clock, secrets, configuration, whenClosing } = opening;
  const log = opening.log.with({ service: 'ai-service' });
  const { models, upstream, breakers, limits, holds, standings } = modelParts;
  const find = (name: 'embed-default' | 'extract-default') =>
    models.find(aliasOf(configuration.aliasPrefix, name));
  const modelCalls = createMatchModelCalls({
    database,
    models,
    upstream,
    breakers,
    secrets,
    clock,
    log,
    answerTimeoutMs: configuration.upstream.idleTimeoutMs,
    platformCalls: createPlatformCalls({ limits, holds, standings, secrets, clock }),
    aliases: () => ({ embed: find('embed-default'), extract: find('extract-default') }),
  });
  const generator = await startGenerator({
    database,
    clock,
    log,
    secrets,
    modelCalls,
    indexes: createCompanyIndexes({ database, clock }),
    vocabulary: createSkillVocabulary(),
  });
  whenClosing('match score generator', () => generator.close(configuration.shutdownTimeoutMs));
  return { generator, modelCalls };
}
