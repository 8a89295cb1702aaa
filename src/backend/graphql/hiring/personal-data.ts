import { discardMeetingMails } from '../../../domain/mail/outbox.ts';
import { exportMatchData } from '../../../domain/matching/list-matches.ts';
import { hideRoomsOf, recordErasedMeetings } from '../../../domain/meetings/erased-meetings.ts';
import { exportMeetings } from '../../../domain/meetings/meeting.ts';
import {
  eraseTalent as eraseStored,
  exportTalent as exportStored,
  exportTalentFile as exportStoredFile,
} from '../../../domain/talents/personal-data.ts';
import { member } from '../access.ts';
import { notFound } from '../errors.ts';
import { idOf } from '../input.ts';
import { recordedChange } from '../recorded-change.ts';
import type { Declaration } from '../schema-builder.ts';

/** A mutation, because each export of personal data is written to the audit log. */
const exportTalent: Declaration = (builder) =>
  builder.mutationField('exportTalent', (t) =>
    t.field({
      type: 'JSON',
      description:
        'Everything that is stored about a person and all who were recognised as the same: files in base64, what matching knows of them, their matches with reasons, and their meetings with events and transcripts. Files above 24 MB in all have neither `contentBase64` nor `text`: `exportTalentFile` has both. That it was exported is recorded.',
      authScopes: { companyAdmin: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const talentId = idOf('talent', args.id);
        return await recordedChange(context, async ({ transaction, record }) => {
          const exported = await exportStored(transaction, { companyId, talentId });
          if (exported.outcome === 'no-such-talent') throw notFound('talent');
          await record({ action: 'talent.exported', objectKind: 'talent', objectId: talentId });
          const { talentIds } = exported;
          const { facts, matches } = await exportMatchData(transaction, { companyId, talentIds });
          const meetings = await exportMeetings(transaction, companyId, talentIds);
          return { ...exported.export, matchFacts: facts, matches, meetings };
        });
      },
    }),
  );

const exportTalentFile: Declaration = (builder) =>
  builder.mutationField('exportTalentFile', (t) =>
    t.field({
      type: 'JSON',
      description:
        'A file that `exportTalent` lists, with its content in base64 and the text that was read. That it was exported is recorded.',
      authScopes: { companyAdmin: true },
      args: { fileId: t.arg.id({ required: true }), talentId: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const talentId = idOf('talent', args.talentId);
        const fileId = idOf('file', args.fileId);
        return await recordedChange(context, async ({ transaction, record }) => {
          const file = await exportStoredFile(transaction, { companyId, talentId, fileId });
          if (file === null) throw notFound('file');
          const details = { file: fileId };
          await record({ action: 'talent.exported', objectKind: 'talent', objectId: talentId, details });
          return file;
        });
      },
    }),
  );

const eraseTalent: Declaration = (builder) =>
  builder.mutationField('eraseTalent', (t) =>
    t.field({
      type: 'Boolean',
      description:
        'Deletes everything stored about a person: profile, versions, files, scores, meetings, and all duplicates of the person.',
      authScopes: { companyAdmin: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const talentId = idOf('talent', args.id);
        return await recordedChange(context, async ({ transaction, record }) => {
          const { clock } = context.parts;
          let meetingIds: readonly string[] = [];
          const erased = await eraseStored(transaction, { companyId, talentId }, async (talentIds) => {
            meetingIds = await recordErasedMeetings(transaction, clock, talentIds);
            return meetingIds;
          });
          if (erased.outcome === 'no-such-talent') throw notFound('talent');
          await hideRoomsOf(transaction, meetingIds);
          await discardMeetingMails(transaction, meetingIds, null, new Date(clock.now()));
          const details = { rows: erased.talentIds.length };
          await record({ action: 'talent.erased', objectKind: 'talent', objectId: talentId, details });
          return true;
        });
      },
    }),
  );

export const personalDataDeclarations: readonly Declaration[] = [exportTalent, exportTalentFile, eraseTalent];
