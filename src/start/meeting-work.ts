import { createMeetingModel } from '../ai-service/room-events-model.ts';
import { createPlatformCalls } from '../ai-service/workers/platform-calls.ts';
import { MEETING_QUEUE, MEETING_UPKEEP_CRON, MEETING_UPKEEP_QUEUE } from '../domain/meetings/queues.ts';
import { createMeetingUpkeepHandler } from '../domain/meetings/upkeep.ts';
import { createMeetingHandler } from '../domain/meetings/work-meeting.ts';
import { aliasOf } from '../domain/models/aliases.ts';
import type { JobQueue } from '../ports/job-queue.ts';
import type { Work } from './jobs.ts';
import { mailOutbox } from './open-mail.ts';
import type { ModelParts } from './open-models.ts';
import type { Opening } from './start-service.ts';

/** What is made of meetings, and their upkeep. */
export function meetingWork(opening: Opening, modelParts: ModelParts, jobQueue: JobQueue): readonly Work[] {
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
