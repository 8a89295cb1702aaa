import { workOffChanges } from '../../src/domain/matching/generator/process-changes.ts';
import { addJob } from '../matching/matching-world.ts';
import type { SearchedSystem } from './searched-system.ts';

/** Words that occur in nothing but the data of the person who is erased. */
export const MARKERS = ['quixwort', '4915550987321'] as const;

const ROOM = 'interview-quixwort';
const PHONE = '+49 1555 0987321';
const CREATE = 'mutation($input: TalentInput!) { createTalent(input: $input) { id } }';
const UPDATE = 'mutation($id: ID!, $profile: JSON!) { updateTalent(id: $id, profile: $profile) { id } }';
const PROPOSAL = 'query($id: ID!) { talent(id: $id) { proposal { id } } }';
const ACCEPT =
  'mutation($id: ID!, $fields: [String!]) { acceptTalentProposal(id: $id, fields: $fields) { id } }';
const MERGE = 'mutation($id: ID!, $into: ID!) { mergeTalents(id: $id, into: $into) { id } }';
const SEPARATE = 'mutation($id: ID!, $from: ID!) { separateTalents(id: $id, from: $from) { id } }';
const ANNOUNCE = 'mutation($input: MeetingInput!) { createMeeting(input: $input) { id } }';
const TRANSCRIPT =
  'mutation($id: ID!, $text: String!) { addMeetingTranscript(meetingId: $id, text: $text) { id } }';
const MAIL = 'mutation($id: ID!, $to: [String!]!) { mailMeetingSummary(meetingId: $id, to: $to) }';

export interface MarkedPerson {
  /** The talent that is matched, and those that are recognised or named as the same person. */
  readonly talentIds: readonly string[];
  readonly meetingIds: readonly string[];
  /** Somebody else, who was taken for the person for a while. */
  readonly bystanderId: string;
}

const profileOf = (employer: string, label = 'Welder') => ({
  basics: { name: 'Zoltan Quixwort', email: 'Zoltan@quixwort.example', phone: PHONE, label },
  work: [{ name: employer, position: 'Welder', startDate: '2019-01', endDate: '2024-12' }],
  skills: [{ name: 'Python' }, { name: 'PostgreSQL' }],
});

/** Puts data of one person into everything that takes it: files, decisions, matches, meetings, mails and the log. */
export async function fillWithPerson(system: SearchedSystem): Promise<MarkedPerson> {
  const person = await fillTalents(system);
  const [talentId = ''] = person.talentIds;
  const jobId = await addJob(system.database, system.backend.companies.acme, {});
  await fillMatching(system, talentId);
  const meetingIds = await fillMeetings(system, { talentId, jobId });
  for (const subject of [{ talentId }, { subjectId: talentId }, { meetingId: meetingIds[0] }])
    system.log.error('it failed', { ...subject, error: new Error('at Quixwort') });
  await system.flushLog();
  return { ...person, meetingIds };
}

async function fillTalents(system: SearchedSystem): Promise<Omit<MarkedPerson, 'meetingIds'>> {
  const { admin } = system.backend.people;
  const first = await sendCv(system, 'QuixwortForge', { as: 'file' });
  // A newer CV of the same person is taken over as long as nobody has edited the profile.
  const newer = await sendCv(system, 'QuixwortShipyard');
  await admin.ask(UPDATE, { id: first, profile: profileOf('QuixwortMill') });
  const proposed = await sendCv(system, 'QuixwortBridge', { label: 'QuixwortInspector' });
  await admin.ask(ACCEPT, { id: await proposalOf(system, first), fields: ['basics.label'] });
  const last = await sendCv(system, 'QuixwortTower');
  const named = await createProfile(system, {
    basics: { name: 'Q. Quixwort', email: 'other@quixwort.example' },
  });
  await admin.ask(MERGE, { id: named, into: first });
  const bystanderId = await createProfile(system, { basics: { name: 'Bea Bystander' }, skills: [] });
  await admin.ask(MERGE, { id: bystanderId, into: first });
  await admin.ask(SEPARATE, { id: bystanderId, from: first });
  const proposal = { basics: { name: 'Zoltan Quixwort' }, awards: [{ title: 'QuixwortMedal' }] };
  await admin.ask(MERGE, { id: await createProfile(system, proposal), into: first });
  return { talentIds: [first, newer, proposed, last, named], bystanderId };
}

async function createProfile(system: SearchedSystem, profile: object): Promise<string> {
  const { admin } = system.backend.people;
  return (await admin.ask<{ createTalent: { id: string } }>(CREATE, { input: { profile } })).createTalent.id;
}

/** A CV that the worker has read, with the marker in whatever the reading returns. */
async function sendCv(
  system: SearchedSystem,
  employer: string,
  { as = 'text', label }: { readonly as?: 'text' | 'file'; readonly label?: string } = {},
): Promise<string> {
  const profile = profileOf(employer, label);
  const text = `Curriculum vitae of Zoltan Quixwort ${JSON.stringify(profile)}`;
  const warnings = [`a line about ${employer}Works was left out`];
  system.cvs.set(text, {
    text,
    parsed: {
      document: { kind: 'cv', confidence: 1, language: 'en', warnings },
      value: { ...profile },
      evidence: [{ path: 'basics.name', start: 20, end: 35, confidence: 1 }],
    },
  });
  const contentBase64 = new TextEncoder().encode(text).toBase64();
  const input = as === 'text' ? { text } : { file: { name: 'Quixwort.txt', contentBase64 } };
  const { createTalent } = await system.backend.people.admin.ask<{ createTalent: { id: string } }>(CREATE, {
    input,
  });
  await system.run('cv', { talentId: createTalent.id });
  return createTalent.id;
}

async function proposalOf(system: SearchedSystem, id: string): Promise<string> {
  const { talent } = await system.backend.people.admin.ask<{ talent: { proposal: { id: string } | null } }>(
    PROPOSAL,
    { id },
  );
  if (talent.proposal === null) throw new Error('the newer CV proposes nothing');
  return talent.proposal.id;
}

/** Scores and facts, and after two more edits a pair and a change that are still to be done. */
async function fillMatching(system: SearchedSystem, talentId: string): Promise<void> {
  const { matching, backend } = system;
  const edit = async (employer: string) =>
    await backend.people.admin.ask(UPDATE, { id: talentId, profile: profileOf(employer, 'QuixwortExpert') });
  await matching.workOff();
  await edit('QuixwortPlant');
  await workOffChanges(matching.parts, matching.claim(), new AbortController().signal);
  await edit('QuixwortYard');
}

/** An interview with attendees, a transcript and a summary: one mail about it is sent, the others wait. */
async function fillMeetings(
  system: SearchedSystem,
  subject: { readonly talentId: string; readonly jobId: string },
): Promise<readonly string[]> {
  const { backend, clock } = system;
  const { admin, member } = backend.people;
  const created = await admin.ask<{ createMeeting: { id: string } }>(ANNOUNCE, {
    input: { room: ROOM, ...subject },
  });
  const meetingId = created.createMeeting.id;
  const from = clock.now() / 1_000;
  const place = { room_name: ROOM, room_jid: `${ROOM}@conference.meet`, is_breakout: false };
  const occupant = {
    ...{ name: 'Zoltan Quixwort', email: 'zoltan@quixwort.example', id: 'quixwort' },
    ...{ occupant_jid: 'quixwort@x/1', joined_at: from },
  };
  const colleague = { ...occupant, name: 'A', email: admin.email, id: 'a', occupant_jid: 'a@x/1' };
  await system.report('room/created', { event_name: 'muc-room-created', ...place, created_at: from });
  await system.report('occupant/joined', { event_name: 'muc-occupant-joined', ...place, occupant });
  await clock.advance(1_800_000);
  const destroyed = {
    event_name: 'muc-room-destroyed',
    ...place,
    created_at: from,
    destroyed_at: from + 1_800,
  };
  await system.report('room/destroyed', {
    ...destroyed,
    all_occupants: [occupant, colleague].map((one) => ({ ...one, left_at: from + 1_800 })),
  });
  await clock.advance(660_000);
  await system.run('meeting', { meetingId });
  const text = 'Quixwort: I have led two teams. We decided to make an offer to Quixwort.';
  await admin.ask(TRANSCRIPT, { id: meetingId, text });
  await system.run('meeting', { meetingId });
  await admin.ask(MAIL, { id: meetingId, to: [admin.email, member.email] });
  const [summary] = (await system.waitingMails()).filter(({ kind }) => kind === 'meeting-summary');
  await system.run('mail', { mailId: summary?.id ?? '' });
  return [meetingId];
}
