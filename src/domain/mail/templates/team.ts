import { z } from 'zod';
import { button, facts, paragraph, template } from '../content.ts';
import { atTime, id, moment, name, remark, token } from '../fields.ts';

export const invitation = template({
  data: z.strictObject({
    companyName: name,
    /** A name or an address, so that the invited person knows whom to ask. */
    invitedBy: name,
    role: name.optional(),
    token,
    expiresAt: moment,
  }),
  expiresAt: ({ expiresAt }) => expiresAt,
  write: ({ companyName, invitedBy, role, token, expiresAt }, links) => ({
    subject: `You are invited to ${companyName}`,
    heading: `Join ${companyName}`,
    blocks: [
      paragraph(`${invitedBy} invites you to ${companyName}.`),
      facts(role === undefined ? null : ['Your role', role], ['Open until', atTime(expiresAt)]),
      button('Accept the invitation', links.invitation(token)),
      paragraph('The link works once. If you do not know the sender, ignore this mail.'),
    ],
    because: `You get this because ${invitedBy} entered your address.`,
  }),
});

export const passwordReset = template({
  data: z.strictObject({ token, expiresAt: moment }),
  expiresAt: ({ expiresAt }) => expiresAt,
  write: ({ token, expiresAt }, links) => ({
    subject: 'Set a new password',
    heading: 'Set a new password',
    blocks: [
      paragraph('A password reset was requested for your account.'),
      facts(['Open until', atTime(expiresAt)]),
      button('Set a new password', links.passwordReset(token)),
      paragraph(
        'The link works once. If you did not request it, ignore this mail: your password does not change.',
      ),
    ],
    because: 'You get this because a password reset was requested for your address.',
  }),
});

export const verifyEmail = template({
  data: z.strictObject({ token, expiresAt: moment }),
  expiresAt: ({ expiresAt }) => expiresAt,
  write: ({ token, expiresAt }, links) => ({
    subject: 'Verify your e-mail address',
    heading: 'Verify your e-mail address',
    blocks: [
      paragraph(
        'Your account is ready. Confirm that this address is yours to invite others and to get granted credits.',
      ),
      facts(['Open until', atTime(expiresAt)]),
      button('Verify the address', links.emailVerification(token)),
      paragraph('The link works once. If you did not sign up, ignore this mail.'),
    ],
    because: 'You get this because an account was created with your address.',
  }),
});

export const companySuspended = template({
  data: z.strictObject({ companyName: name, reason: remark, at: moment }),
  write: ({ companyName, reason, at }, links) => ({
    subject: `${companyName} is suspended`,
    heading: 'The operator has suspended your company',
    blocks: [
      paragraph(
        `Model calls of ${companyName} are refused until the operator ends the suspension. You can still sign in, look at your data and pay.`,
      ),
      facts(['Company', companyName], ['Reason', reason], ['Since', atTime(at)]),
      button('Open the console', links.home),
      paragraph('Contact the operator of this service to have it ended.'),
    ],
    because: `You get this because you are an admin of ${companyName}.`,
  }),
});

export const companyResumed = template({
  data: z.strictObject({ companyName: name, at: moment }),
  write: ({ companyName, at }, links) => ({
    subject: `${companyName} is no longer suspended`,
    heading: 'The suspension of your company has ended',
    blocks: [
      paragraph(`Model calls of ${companyName} are answered again.`),
      facts(['Company', companyName], ['Ended', atTime(at)]),
      button('Open the console', links.home),
    ],
    because: `You get this because you are an admin of ${companyName}.`,
  }),
});

/** An interview has ended, and nothing was written down about it. */
export const scorecardReminder = template({
  data: z.strictObject({
    companyName: name,
    meetingId: id,
    talentName: name,
    jobTitle: name,
    endedAt: moment,
  }),
  write: ({ companyName, meetingId, talentName, jobTitle, endedAt }, links) => ({
    subject: `How was the interview with ${talentName}?`,
    heading: 'Please add your notes',
    blocks: [
      paragraph(
        `The interview with ${talentName} for ${jobTitle} has ended, and there are no notes of it yet. Write down what you saw while you remember it.`,
      ),
      facts(['Candidate', talentName], ['Position', jobTitle], ['Interview ended', atTime(endedAt)]),
      button('Add your notes', links.meeting(meetingId)),
    ],
    because: `You get this because you took part in an interview of ${companyName}.`,
  }),
});

/** A member sends the summary of a meeting to another. */
export const meetingSummary = template({
  data: z.strictObject({
    companyName: name,
    meetingId: id,
    room: name,
    jobTitle: name.nullable(),
    talentName: name.nullable(),
    sentBy: name,
    sections: z.array(z.strictObject({ name, lines: z.array(remark).max(30) })).max(4),
  }),
  write: ({ companyName, meetingId, room, jobTitle, talentName, sentBy, sections }, links) => ({
    subject: `Summary of the meeting in ${room}`,
    heading: 'What was said, decided and left open',
    blocks: [
      facts(
        ['Room', room],
        jobTitle === null ? null : ['Position', jobTitle],
        talentName === null ? null : ['Candidate', talentName],
        ['Sent by', sentBy],
      ),
      ...sections.flatMap((section) => [
        paragraph(`${section.name}:`),
        ...section.lines.map((line) => paragraph(`• ${line}`)),
      ]),
      button('Open the meeting', links.meeting(meetingId)),
    ],
    because: `You get this because ${sentBy} sent it to you as a member of ${companyName}.`,
  }),
});
