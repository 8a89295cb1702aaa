import { discardMeetingMails } from '../../../domain/mail/outbox.ts';
import { announceMeeting, linkMeeting } from '../../../domain/meetings/announce-meeting.ts';
import { findMeeting, listMeetings, type Meeting } from '../../../domain/meetings/meeting.ts';
import { findSummary, mailSummary, summaryText } from '../../../domain/meetings/summary-text.ts';
import { deleteTranscript, postTranscript } from '../../../domain/meetings/transcript.ts';
import { member } from '../access.ts';
import { badInput, conflict, notFound } from '../errors.ts';
import { bounded, idOf } from '../input.ts';
import { defineConnection, idCursor, type Page, type PageArgs, pageArgs, pageOf } from '../paging.ts';
import type { FieldSize } from '../query-cost.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    Meeting: Meeting;
    MeetingConnection: Page<Meeting>;
  }
  interface SchemaScalars {
    MeetingTextKind: 'TRANSCRIPT' | 'NOTES';
    MeetingSummaryFormat: 'MARKDOWN' | 'TEXT';
  }
}

const meetingObjects: Declaration = (builder) => {
  builder.enumType('MeetingTextKind', {
    values: {
      TRANSCRIPT: { description: 'The spoken text.' },
      NOTES: { description: 'Notes about it, one point per line.' },
    },
  });
  builder.enumType('MeetingSummaryFormat', { values: ['MARKDOWN', 'TEXT'] as const });
  builder.objectType('Meeting', {
    description: 'A meeting in a room of the meeting server, whether the room was announced or not.',
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
        extensions: { maxCharacters: 40_000 } satisfies FieldSize,
        type: 'JSON',
        nullable: true,
        description: 'For an interview that has begun: score, fits, askAbout. Null without a match.',
      }),
      insight: t.expose('insight', {
        extensions: { maxCharacters: 40_000 } satisfies FieldSize,
        type: 'JSON',
        nullable: true,
        description: 'What is known of it; `missing` says what is not known and why.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
    }),
  });
  defineConnection(builder, 'Meeting');
};

const meetings: Declaration = (builder) =>
  builder.queryField('meetings', (t) =>
    t.field({
      type: 'MeetingConnection',
      description: 'The company’s meetings, newest first.',
      authScopes: { member: true },
      args: { first: t.arg.int(), after: t.arg.id() },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        return await page(context, companyId, args);
      },
    }),
  );

const meeting: Declaration = (builder) =>
  builder.queryField('meeting', (t) =>
    t.field({
      type: 'Meeting',
      authScopes: { member: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, { id }, context) {
        const { companyId } = await member(context);
        const found = await findMeeting(context.parts.database, idOf('meeting', id));
        if (found === null || found.companyId !== companyId) throw notFound('meeting');
        return found;
      },
    }),
  );

const unannouncedMeetings: Declaration = (builder) =>
  builder.queryField('unannouncedMeetings', (t) =>
    t.field({
      type: 'MeetingConnection',
      description: 'Events in rooms that no company had announced, newest first. Stored for 30 days.',
      authScopes: { superAdmin: true },
      args: { first: t.arg.int(), after: t.arg.id() },
      resolve: (_root, args, context) => page(context, null, args),
    }),
  );

const USED_UNANNOUNCED =
  'This room is in use or was used in the last 30 days without being announced. Choose a name that has not been used yet, and announce it before people join, or ask the operator to assign this room to your company.';

const createMeeting: Declaration = (builder) => {
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
        'Announces a room for the company. The company sees what happens in the room from then on.',
      authScopes: { member: true },
      args: { input: t.arg({ type: input, required: true }) },
      async resolve(_root, args, context) {
        const { companyId, id: createdBy } = await member(context);
        const { startsAt, plannedMinutes, jobId, talentId } = args.input;
        const params = {
          companyId,
          createdBy,
          room: bounded('line', 'input.room', args.input.room),
          startsAt: startsAt ?? null,
          plannedMinutes: plannedMinutes ?? null,
          jobId: jobId == null ? null : idOf('job', jobId),
          talentId: talentId == null ? null : idOf('talent', talentId),
        };
        return await recordedChange(context, async ({ transaction, record }) => {
          const announced = await announceMeeting(transaction, context.parts, params);
          if (announced.outcome === 'invalid') throw badInput(`input.${announced.field}`, announced.message);
          if (announced.outcome === 'unknown') throw notFound(announced.what);
          if (announced.outcome === 'taken') throw conflict('This room name is taken. Choose another one.');
          if (announced.outcome === 'used-unannounced') throw conflict(USED_UNANNOUNCED);
          const { meeting } = announced;
          await record({ action: 'meeting.announced', objectKind: 'meeting', objectId: meeting.id });
          return meeting;
        });
      },
    }),
  );
};

const addMeetingTranscript: Declaration = (builder) =>
  builder.mutationField('addMeetingTranscript', (t) =>
    t.field({
      type: 'Meeting',
      description:
        'What was said, as plain text with `Name:` before each turn, WebVTT or SRT; or notes of it. The summary comes with the insight. Takes the place of an earlier one.',
      authScopes: { member: true },
      args: {
        meetingId: t.arg.id({ required: true }),
        text: t.arg.string({ required: true }),
        kind: t.arg({ type: 'MeetingTextKind', defaultValue: 'TRANSCRIPT' }),
      },
      async resolve(_root, { meetingId: id, text, kind: given }, context) {
        const { companyId } = await member(context);
        const meetingId = idOf('meeting', id);
        const kind = given === 'NOTES' ? 'notes' : 'transcript';
        return await recordedChange(context, async ({ transaction, record }) => {
          const posted = await postTranscript(transaction, context.parts, {
            meetingId,
            companyId,
            kind,
            text,
          });
          if (posted.outcome === 'invalid') throw badInput('text', posted.message);
          if (posted.outcome !== 'posted') throw notFound('meeting');
          const details = { characters: text.length, kind };
          const objectId = meetingId;
          await record({ action: 'meeting.transcript-added', objectKind: 'meeting', objectId, details });
          return posted.meeting;
        });
      },
    }),
  );

const deleteMeetingTranscript: Declaration = (builder) =>
  builder.mutationField('deleteMeetingTranscript', (t) =>
    t.boolean({
      description:
        'Erases the transcript or the notes of a meeting, and the summary of it. False where there was none.',
      authScopes: { member: true },
      args: { meetingId: t.arg.id({ required: true }) },
      async resolve(_root, { meetingId: id }, context) {
        const { companyId } = await member(context);
        const meetingId = idOf('meeting', id);
        return await recordedChange(context, async ({ transaction, record, nothingChanged }) => {
          const outcome = await deleteTranscript(transaction, context.parts, { meetingId, companyId });
          if (outcome === 'unknown') throw notFound('meeting');
          if (outcome === 'nothing') nothingChanged();
          else {
            const now = new Date(context.parts.clock.now());
            await discardMeetingMails(transaction, [meetingId], 'meeting-summary', now);
            await record({
              action: 'meeting.transcript-deleted',
              objectKind: 'meeting',
              objectId: meetingId,
            });
          }
          return outcome === 'deleted';
        });
      },
    }),
  );

const linkMeetingField: Declaration = (builder) =>
  builder.mutationField('linkMeeting', (t) =>
    t.field({
      type: 'Meeting',
      description:
        'Sets the job and the talent of a meeting. What is omitted or null is removed. With both, the meeting is an interview.',
      authScopes: { member: true },
      args: { meetingId: t.arg.id({ required: true }), jobId: t.arg.id(), talentId: t.arg.id() },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const params = {
          meetingId: idOf('meeting', args.meetingId),
          companyId,
          jobId: args.jobId == null ? null : idOf('job', args.jobId),
          talentId: args.talentId == null ? null : idOf('talent', args.talentId),
        };
        return await recordedChange(context, async ({ transaction, record }) => {
          const linked = await linkMeeting(transaction, context.parts, params);
          if (linked.outcome === 'unknown') throw notFound(linked.what);
          const { meetingId: objectId, jobId, talentId } = params;
          const details = { jobId, talentId };
          await record({ action: 'meeting.linked', objectKind: 'meeting', objectId, details });
          return linked.meeting;
        });
      },
    }),
  );

const NO_SUMMARY =
  'This meeting has no summary yet. Add a transcript or notes, and wait until it is summarised.';

const meetingSummary: Declaration = (builder) =>
  builder.queryField('meetingSummary', (t) =>
    t.string({
      description:
        'The summary of a meeting with decisions, open questions and next steps, to be stored elsewhere.',
      extensions: { maxCharacters: 80_000 } satisfies FieldSize,
      authScopes: { member: true },
      args: {
        meetingId: t.arg.id({ required: true }),
        format: t.arg({ type: 'MeetingSummaryFormat', defaultValue: 'MARKDOWN' }),
      },
      async resolve(_root, { meetingId: id, format }, context) {
        const { companyId } = await member(context);
        const meetingId = idOf('meeting', id);
        const result = await findSummary(context.parts.database, { meetingId, companyId });
        if (result.outcome === 'unknown') throw notFound('meeting');
        if (result.outcome === 'none') throw conflict(NO_SUMMARY);
        return summaryText(result.found, format === 'TEXT' ? 'text' : 'markdown');
      },
    }),
  );

const MOST_RECIPIENTS = 20;

const mailMeetingSummary: Declaration = (builder) =>
  builder.mutationField('mailMeetingSummary', (t) =>
    t.int({
      description:
        'Sends the summary of a meeting to members of the company by e-mail. Returns the number of recipients.',
      authScopes: { member: true },
      args: { meetingId: t.arg.id({ required: true }), to: t.arg.stringList({ required: true }) },
      async resolve(_root, { meetingId: id, to }, context) {
        const { companyId, email: sentBy } = await member(context);
        const meetingId = idOf('meeting', id);
        if (to.length < 1 || to.length > MOST_RECIPIENTS)
          throw badInput('to', `give 1 to ${MOST_RECIPIENTS} addresses`);
        const emails = to.map((address) => bounded('email', 'to', address));
        const { parts, requestId } = context;
        return await recordedChange(context, async ({ transaction, record }) => {
          const params = { meetingId, companyId, emails, sentBy, key: `${meetingId}:${requestId}` };
          const mailed = await mailSummary(transaction, parts.mailOutbox, params);
          if (mailed.outcome === 'unknown') throw notFound('meeting');
          if (mailed.outcome === 'none') throw conflict(NO_SUMMARY);
          if (mailed.outcome === 'not-a-member')
            throw badInput('to', `${mailed.email} is not a member of your company: invite them first`);
          const details = { recipients: mailed.count };
          await record({
            action: 'meeting.summary-mailed',
            objectKind: 'meeting',
            objectId: meetingId,
            details,
          });
          return mailed.count;
        });
      },
    }),
  );

async function page({ parts: { database } }: RequestContext, companyId: string | null, args: PageArgs) {
  const { limit, after } = pageArgs(args);
  const rows = await listMeetings(database, companyId, { limit: limit + 1, after: idCursor(after) });
  return pageOf(rows, limit, ({ id }) => id);
}

export const meetingDeclarations: readonly Declaration[] = [
  meetingObjects,
  meetings,
  meeting,
  unannouncedMeetings,
  createMeeting,
  linkMeetingField,
  addMeetingTranscript,
  deleteMeetingTranscript,
  meetingSummary,
  mailMeetingSummary,
];
