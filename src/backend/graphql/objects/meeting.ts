import { defineConnection } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

export const meetingObjects: Declaration = (builder) => {
  builder.objectType('Meeting', {
    description: 'A meeting in a room of the meeting server, announced or not.',
    fields: (t) => ({
      id: t.exposeID('id'),
      room: t.exposeString('room'),
      startsAt: t.expose('startsAt', { type: 'DateTime', nullable: true, description: 'By the plan.' }),
      plannedMinutes: t.exposeInt('plannedMinutes', { nullable: true }),
      startedAt: t.expose('startedAt', { type: 'DateTime', nullable: true }),
      endedAt: t.expose('endedAt', { type: 'DateTime', nullable: true }),
      jobId: t.exposeID('jobId', { nullable: true }),
      talentId: t.exposeID('talentId', { nullable: true }),
      briefing: t.expose('briefing', {
        type: 'JSON',
        nullable: true,
        description: 'Of an interview that has begun: score, fits, askAbout. Null without a match.',
      }),
      insight: t.expose('insight', {
        type: 'JSON',
        nullable: true,
        description: 'What is known of it; `missing` says what is not known and why.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
    }),
  });
  defineConnection(builder, 'Meeting');
};
