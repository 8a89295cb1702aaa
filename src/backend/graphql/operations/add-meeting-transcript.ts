import { postTranscript } from '../../../domain/meetings/post-transcript.ts';
import { member } from '../access.ts';
import { idOf } from '../bounded-input.ts';
import { recordedChange } from '../recorded-change.ts';
import { badInput, notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const addMeetingTranscript: Declaration = (builder) =>
  builder.mutationField('addMeetingTranscript', (t) =>
    t.field({
      type: 'Meeting',
      description:
        'What was said, as plain text with `Name:` before each turn, WebVTT or SRT. Its summary comes with the insight. Takes the place of an earlier one.',
      authScopes: { member: true },
      args: { meetingId: t.arg.id({ required: true }), text: t.arg.string({ required: true }) },
      async resolve(_root, { meetingId: id, text }, context) {
        const { companyId } = await member(context);
        const meetingId = idOf('meeting', id);
        return await recordedChange(context, async ({ transaction, record }) => {
          const posted = await postTranscript(transaction, context.parts, { meetingId, companyId, text });
          if (posted.outcome === 'invalid') throw badInput('text', posted.message);
          if (posted.outcome !== 'posted') throw notFound('meeting');
          const details = { characters: text.length };
          const objectId = meetingId;
          await record({ action: 'meeting.transcript-added', objectKind: 'meeting', objectId, details });
          return posted.meeting;
        });
      },
    }),
  );
