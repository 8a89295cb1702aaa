import { readQueueDepths } from '../../adapters/job-queue/boss-tables.ts';
import { ENCODER } from '../../adapters/networks/network-files.ts';
import { addGenerator, NAMED_WORKERS, type WorkerRegistry } from '../../ai-service/health.ts';
import { aiServiceMetrics } from '../../ai-service/monitoring.ts';
import { createAiService } from '../../ai-service/server.ts';
import { documentWork } from '../../ai-service/workers/document-workers.ts';
import { createMatchModelCalls } from '../../ai-service/workers/match-models.ts';
import { createMeetingModel } from '../../ai-service/workers/meeting-model.ts';
import { createSkillVocabulary } from '../../domain/matching/facts/qualifications.ts';
import { createCompanyIndexes } from '../../domain/matching/generator/company-index.ts';
import { type Generator, startGenerator } from '../../domain/matching/generator/generator.ts';
import type { PlatformModelCalls } from '../../domain/matching/generator/model-calls.ts';
import { meetingWork } from '../../domain/meetings/meeting-work.ts';
import { createPlatformCalls } from '../../domain/model-calls/platform-calls.ts';
import { aliasOf } from '../../domain/models/aliases.ts';
import type { Listening } from '../../http/listen.ts';
import { databaseMetric } from '../../http/metrics.ts';
import type { JobQueue, QueueWork } from '../../ports/job-queue.ts';
import type { Opening, ServiceOpening } from '../processes/start-service.ts';
import { accepted, metricsAccess } from '../settings/secrets.ts';
import type { Jobs } from './background-jobs.ts';
import { mailOutbox } from './open-mail.ts';
import type { ModelParts } from './open-models.ts';
import type { Payments } from './open-payments.ts';
import { checksOf, docsFiles, openServer } from './open-server.ts';

interface StartedAiService {
  readonly server: Listening;
  /** For the process heartbeat. */
  readonly workers: { readonly registry: WorkerRegistry; readonly names: readonly string[] };
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
  const registry = await jobs.startWorkers([...payments.work, ...aiWork(opening, modelParts, jobQueue)]);
  addGenerator(registry, matching.generator);
  const aiParts = {
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
    workers: registry,
    circuitBreakers: breakers.states,
    coolingTargets: models.cooling,
    internalTokens: accepted(ownSecrets, 'internalToken'),
    metricsAccess: metricsAccess(ownSecrets),
  };
  for (const source of aiServiceMetrics(aiParts)) opening.metrics.add(source);
  opening.metrics.add(databaseMetric(aiParts.dependencies));
  const app = createAiService(aiParts);
  const server = openServer(opening, 'ai-service', 'AI_PORT', configuration.ports.ai, app.fetch);
  return { server, workers: { registry, names: NAMED_WORKERS } };
}

/** CVs, postings and meetings, which are read and summarised by calls that their company pays for. */
function aiWork(opening: Opening, modelParts: ModelParts, jobQueue: JobQueue): readonly QueueWork[] {
  const { database, clock, secrets, configuration } = opening;
  const log = opening.log.with({ service: 'ai-service' });
  const { models, ownKeys, upstream, breakers, limits, holds, billingStatuses, reader, parser } = modelParts;
  const { aliasPrefix } = configuration;
  const platformCalls = createPlatformCalls({
    limits,
    holds,
    billingStatuses,
    ownKeys,
    models,
    secrets,
    clock,
  });
  const outbox = mailOutbox(opening, jobQueue);
  const extractName = aliasOf(aliasPrefix, 'extract-default');
  const model = createMeetingModel({
    ...{ models, upstream, breakers, secrets, clock, log, platformCalls },
    answerTimeoutMs: configuration.upstream.idleTimeoutMs,
    extractAlias: () => models.find(extractName),
  });
  return [
    ...documentWork({
      ...{ database, clock, log, reader, parser, platformCalls },
      extractAlias() {
        const alias = models.find(extractName);
        if (alias === null) throw new Error(`there is no alias ${extractName}`);
        return alias;
      },
    }),
    ...meetingWork({
      ...{ database, clock, log, secrets, jobQueue, model },
      async remind(mail, within) {
        await outbox.send({ kind: 'scorecard-reminder', ...mail }, within);
      },
    }),
  ];
}

interface Matching {
  readonly generator: Generator;
  readonly modelCalls: PlatformModelCalls;
}

/** The match score generator of this process. It is closed before the models that it calls. */
async function openMatching(opening: Opening, modelParts: ModelParts): Promise<Matching> {
  const { database, clock, databaseClock, secrets, configuration, whenClosing } = opening;
  const log = opening.log.with({ service: 'ai-service' });
  const { models, ownKeys, upstream, breakers, limits, holds, billingStatuses } = modelParts;
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
    platformCalls: createPlatformCalls({ limits, holds, billingStatuses, ownKeys, models, secrets, clock }),
    embeddedEncoder: ENCODER.version,
    aliases: () => ({ embed: find('embed-default'), extract: find('extract-default') }),
  });
  const generator = await startGenerator({
    database,
    clock: databaseClock,
    log,
    secrets,
    modelCalls,
    indexes: createCompanyIndexes({ database, clock }),
    vocabulary: createSkillVocabulary(),
  });
  whenClosing('match score generator', () => generator.close(configuration.shutdownTimeoutMs));
  return { generator, modelCalls };
}
