import { chatAnswer, startScriptedUpstream, USAGE } from '../gateway/scripted-upstream.ts';

type RequestKind = 'cv' | 'posting' | 'meeting' | 'reasons' | 'vectors';

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
const ANSWERS: Record<Exclude<RequestKind, 'vectors'>, unknown> = {
  cv: PROFILE,
  posting: { document_kind: 'job_posting', title: 'Senior Backend Engineer' },
  meeting: SUMMARY,
  reasons: { matches: [] },
};

/** A provider for everything that the background asks of one, which holds its answers back while a test wants it to. */
export function startWorkerProvider() {
  const upstream = startScriptedUpstream();
  const counts: Record<RequestKind, number> = { cv: 0, posting: 0, meeting: 0, reasons: 0, vectors: 0 };
  let gate = Promise.withResolvers<void>();
  gate.resolve();
  upstream.answer(async ({ path, body }) => {
    const text = new TextDecoder().decode(body);
    const kind = path.endsWith('/embeddings') ? 'vectors' : questionOf(text);
    counts[kind] += 1;
    await gate.promise;
    if (kind !== 'vectors') {
      const content = JSON.stringify(ANSWERS[kind]).replace(ADA, ADA.exec(text)?.[0] ?? '');
      const message = { role: 'assistant', content };
      return Response.json(chatAnswer({ choices: [{ index: 0, message, finish_reason: 'stop' }] }));
    }
    const { input } = JSON.parse(text) as { input: readonly string[] };
    const data = input.map((one, index) => ({ index, embedding: [one.length, 1, 2, 3] }));
    return Response.json({ object: 'list', model: 'provider-model-x', data, usage: USAGE });
  });
  return {
    url: upstream.url,
    counts,
    /** From now on no request is answered, until `answer`. */
    hold(): void {
      gate = Promise.withResolvers();
    },
    answer: () => gate.resolve(),
    close: upstream.close,
  };
}

function questionOf(text: string): Exclude<RequestKind, 'vectors'> {
  if (text.includes('"meeting_summary"')) return 'meeting';
  if (text.includes('"match_reasons"')) return 'reasons';
  return text.includes('Analytical Engines') ? 'cv' : 'posting';
}
