import type { QueueDefinition, QueueWork } from '../../ports/job-queue.ts';
import { retentionQueue } from '../retention/retention-queue.ts';
import { MEETING_QUEUE } from './meeting.ts';
import { createMeetingHandler, type MeetingHandlerParts } from './process-meeting.ts';
import { createMeetingRetentionHandler, type MeetingRetentionParts } from './rooms.ts';

const MEETING_RETENTION_QUEUE = retentionQueue('meeting-retention', {
  runSeconds: 120,
  heartbeatSeconds: 30,
});

export const MEETING_QUEUES: readonly QueueDefinition[] = [MEETING_QUEUE, MEETING_RETENTION_QUEUE];

/** Derives data from meetings, closes them and deletes them. */
export function meetingWork(parts: MeetingHandlerParts & MeetingRetentionParts): readonly QueueWork[] {
  return [
    {
      queue: MEETING_QUEUE,
      reportedAs: 'meeting_worker',
      concurrency: 4,
      perOwner: 2,
      handler: createMeetingHandler(parts),
    },
    {
      queue: MEETING_RETENTION_QUEUE,
      concurrency: 1,
      // A meeting whose end was lost is closed up to ten minutes late.
      cron: '*/10 * * * *',
      handler: createMeetingRetentionHandler(parts),
    },
  ];
}
