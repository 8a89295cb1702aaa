/** A company with something in every list: pages without content prove little. */
import { until } from '../doubles/until.ts';
import type { DemoFile } from '../system/running-system.ts';
import { askAs } from './browser-system.ts';

export const CV = `Grace Miller
Welder and pipe fitter
grace.miller@example.org | +44 20 7946 0958 | Leeds, United Kingdom

Profile
Welder with eight years in pipework for power stations and dairies.

Experience
Acme Steel Ltd, Leeds
Senior Welder
03/2019 - present
- TIG welding of stainless pipes for dairies
- Training of three apprentices

Northern Pipes, Sheffield
Welder
01/2016 - 02/2019
- MAG welding of steel frames

Education
City College Leeds
NVQ Level 3, Fabrication and Welding
2013 - 2015

Skills: TIG welding, MAG welding, technical drawings, orbital welding

Languages: English (native), German (B1)

Certificates: EN ISO 9606-1
`;
const TRANSCRIPT = `Ada: Welcome Grace. Today we look at your pipework and at the plan for the first months.
Grace: I welded stainless pipes by TIG for six years, mostly in dairies.
Ada: How did you test the seams?
Grace: We tested every seam with dye, and the important ones with X-rays.
Ada: We decided to offer you a trial day in the workshop.
Ada: I will send you the address by Friday.`;

export interface FilledCompany {
  readonly jobId: string;
  readonly talentId: string;
  readonly meetingId: string;
}

type Id = { readonly id: string };

export async function fillCompany(demo: DemoFile): Promise<FilledCompany> {
  const ask = await askAs(demo, demo.company_admin);
  const made = await ask<{ createJob: Id; createTalent: Id }>(
    `mutation($cv: String!) {
      createTalent(input: { text: $cv }) { id }
      createJob(input: { title: "Welder (TIG)", description: "Welding of stainless pipes by TIG in our workshop in Leeds.",
        mustHave: ["TIG welding", "technical drawings"], niceToHave: ["orbital welding"], location: "Leeds",
        employmentType: "full-time", minMonthsExperience: 36 }) { id } }`,
    { cv: CV },
  );
  const [jobId, talentId] = [made.createJob.id, made.createTalent.id];
  await someCalls(demo, ask);
  await until(async () => {
    const { matches } = await ask<{ matches: { nodes: Id[] } }>(
      'query($jobId: ID!, $talentId: ID!) { matches(jobId: $jobId, talentId: $talentId) { nodes { id } } }',
      { jobId, talentId },
    );
    return matches.nodes.length > 0;
  });
  const meetingId = await anInterview(demo, ask, { jobId, talentId });
  return { jobId, talentId, meetingId };
}

type Ask = Awaited<ReturnType<typeof askAs>>;

/** One that succeeds, some that are refused, each for a reason of its own; and a key that passes its limit. */
async function someCalls(demo: DemoFile, ask: Ask): Promise<void> {
  const { createApiKey } = await ask<{ createApiKey: { rawKey: string } }>(
    `mutation { createApiKey(input: { name: "Nightly report", models: ["svc/chat-default"],
      monthlySpendingLimit: 0.00001 }) { rawKey } }`,
  );
  const call = (key: string, model: string, content: unknown) =>
    fetch(`${demo.gateway_url}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content }] }),
    }).then((answer) => answer.arrayBuffer());
  await call(createApiKey.rawKey, 'svc/chat-default', 'Hello');
  await call(createApiKey.rawKey, 'svc/chat-cheap', 'Hello');
  await call(demo.full_key, 'svc/chat-default', 'Hello');
  await call(demo.full_key, 'svc/nobody', 'Hello');
}

/** Announced, held and talked about. What happened earlier than five minutes before is not the company's. */
async function anInterview(demo: DemoFile, ask: Ask, about: object): Promise<string> {
  const [from, end] = [Math.floor(Date.now() / 1_000) - 240, Math.floor(Date.now() / 1_000)];
  const startsAt = new Date((from - 90) * 1_000).toISOString();
  const { createMeeting } = await ask<{ createMeeting: Id }>(
    'mutation($input: MeetingInput!) { createMeeting(input: $input) { id } }',
    { input: { room: 'Interview', startsAt, plannedMinutes: 3, ...about } },
  );
  const place = { room_name: 'interview', room_jid: 'interview@conference.meet', is_breakout: false };
  const people = ['Ada', 'Grace'].map((name, at) => ({
    ...{ name, email: `${name.toLowerCase()}@people.example`, id: name, occupant_jid: `${name}@x/1` },
    ...{ joined_at: from + at * 70, left_at: end, total_dominant_speaker_time: 40_000 + at * 60_000 },
  }));
  await tell(demo, 'created', { event_name: 'muc-room-created', ...place, created_at: from });
  const ended = { created_at: from, destroyed_at: end, all_occupants: people };
  await tell(demo, 'destroyed', { event_name: 'muc-room-destroyed', ...place, ...ended });
  const { id } = createMeeting;
  await ask(
    'mutation($id: ID!, $text: String!) { addMeetingTranscript(meetingId: $id, text: $text) { id } }',
    {
      id,
      text: TRANSCRIPT,
    },
  );
  await until(async () => {
    const { meeting } = await ask<{ meeting: { insight: { summary: object | null } | null } }>(
      'query($id: ID!) { meeting(id: $id) { insight } }',
      { id },
    );
    return meeting.insight?.summary != null;
  });
  return id;
}

/** As the meeting server does. */
async function tell({ ai_url, internal_token }: DemoFile, what: string, body: object): Promise<void> {
  const headers = { authorization: `Bearer ${internal_token}`, 'content-type': 'application/json' };
  const url = `${ai_url}/api/events/room/${what}`;
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (answer.status !== 202) throw new Error(`${what} answers ${answer.status}: ${await answer.text()}`);
}
