import { createMatchModelCalls } from '../ai-service/match-generator-calls.ts';
import type { WorkerBoard } from '../ai-service/worker-board.ts';
import { createPlatformCalls } from '../ai-service/workers/platform-calls.ts';
import { createCompanyIndexes } from '../domain/matching/company-index.ts';
import { type Generator, startGenerator } from '../domain/matching/generator.ts';
import type { PlatformModelCalls } from '../domain/matching/model-calls.ts';
import { createSkillVocabulary } from '../domain/matching/skill-vocabulary.ts';
import { aliasOf } from '../domain/models/aliases.ts';
import type { ModelParts } from './open-models.ts';
import type { Opening } from './start-service.ts';

export interface Matching {
  readonly generator: Generator;
  readonly modelCalls: PlatformModelCalls;
}

/** The match score generator of this process. It is closed before the models that it asks. */
export async function openMatching(opening: Opening, modelParts: ModelParts): Promise<Matching> {
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

/** The board with the generator on it: stopped where it is wished so, failing where its last turn ended in a fault. */
export function withGenerator(board: WorkerBoard, { generator }: Matching): WorkerBoard {
  board.add('match_score_generator', {
    mayRest: true,
    status() {
      const { state } = generator.own();
      if (generator.isFailing()) return { state: 'failing', active: 0, idle: 0 };
      if (state === 'stopped') return { state, active: 0, idle: 0 };
      const active = state === 'processing' ? 1 : 0;
      return { state: 'running', active, idle: 1 - active };
    },
  });
  return board;
}
