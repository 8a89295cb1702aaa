import { chatAnswer, startScriptedUpstream, USAGE } from '../gateway/scripted-upstream.ts';

type RequestKind = 'cv' | 'posting' | 'meeting' | 'reasons';

/** Each CV has an address of its own, which the answer repeats. */
const ADA = /ada[\w.]*@example\.org/;
const PROFILE = {
  document_kind: 'cv',
  basics: { name: 'Ada Byron', email: 'ada.byron@example.org', label: 'Software Engineer' },
  work: [
    {
      ...{ name: 'Analytical Engines Ltd', position: 'Software Engineer' },
      ...{ startDate: '2020-01', endDate: '2023-03' },
    },
  ],
  education: [{ institution: 'University of London', studyType: 'BSc', area: 'Mathematics' }],
  skills: ['Python', 'PostgreSQL'],
};
const SUMMARY = { summary: ['They met.'], decisions: [], actionItems: [], questions: [] };
const ANSWERS: Record<RequestKind, unknown> = {
  cv: PROFILE,
  posting: { document_kind: 'job_posting', title: 'Senior Backend Engineer' },
  meeting: SUMMARY,
  reasons: { matches: [] },
};

/** A provider for everything that the background asks of one. */
export function startWorkerProvider() {
  const upstream = startScriptedUpstream();
  upstream.answer(({ path, body }) => {
    const text = new TextDecoder().decode(body);
    if (!path.endsWith('/embeddings')) {
      const content = JSON.stringify(ANSWERS[questionOf(text)]).replace(ADA, ADA.exec(text)?.[0] ?? '');
      const message = { role: 'assistant', content };
      return Response.json(chatAnswer({ choices: [{ index: 0, message, finish_reason: 'stop' }] }));
    }
    const { input } = JSON.parse(text) as { input: readonly string[] };
    const data = input.map((one, index) => ({ index, embedding: [one.length, 1, 2, 3] }));
    return Response.json({ object: 'list', model: 'provider-model-x', data, usage: USAGE });
  });
  return upstream;
}

function questionOf(text: string): RequestKind {
  if (text.includes('"meeting_summary"')) return 'meeting';
  if (text.includes('"match_reasons"')) return 'reasons';
  return text.includes('Analytical Engines') ? 'cv' : 'posting';
}
