import { announceMeeting } from '../../../domain/meetings/announce-meeting.ts';
import { member } from '../access.ts';
import { bounded, idOf } from '../bounded-input.ts';
import { recordedChange } from '../recorded-change.ts';
import { badInput, conflict, notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const createMeeting: Declaration = (builder) => {
  const input = builder.inputType('MeetingInput', {
    description:
      'With a job and a talent it is an interview: briefed when it begins, followed up when it ends.',
    fields: (t) => ({
      room: t.string({ required: true }),
      startsAt: t.field({ type: 'DateTime' }),
      plannedMinutes: t.int(),
      jobId: t.id(),
      talentId: t.id(),
    }),
  });
  builder.mutationField('createMeeting', (t) =>
    t.field({
      type: 'Meeting',
      description:
        'Announces a room as the company’s: what happens in it from now on is the company’s to see.',
      authScopes: { member: true },
      args: { input: t.arg({ type: input, required: true }) },
      async resolve(_root, args, context) {
        const { companyId, id: createdBy } = await member(context);
        const { startsAt, plannedMinutes, jobId, talentId } = args.input;
        const wanted = {
          companyId,
          createdBy,
          room: bounded('line', 'input.room', args.input.room),
          startsAt: startsAt ?? null,
          plannedMinutes: plannedMinutes ?? null,
          jobId: jobId == null ? null : idOf('job', jobId),
          talentId: talentId == null ? null : idOf('talent', talentId),
        };
        return await recordedChange(context, async ({ transaction, record }) => {
          const announced = await announceMeeting(transaction, context.parts, wanted);
          if (announced.outcome === 'invalid') throw badInput(`input.${announced.field}`, announced.message);
          if (announced.outcome === 'unknown') throw notFound(announced.what);
          if (announced.outcome === 'taken') throw conflict('This room’s name is taken: choose another one.');
          const { meeting } = announced;
          await record({ action: 'meeting.announced', objectKind: 'meeting', objectId: meeting.id });
          return meeting;
        });
      },
    }),
  );
};
