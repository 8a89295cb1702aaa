import { describe, expect, test } from 'bun:test';
import { createEmbeddedEngine } from '../../documents/embedded-engine.ts';
import { storedVector } from '../facts/facts.ts';
import { createSkillVocabulary } from '../facts/qualifications.ts';
import { readJob } from '../facts/read-job.ts';
import { readTalent, talentTexts } from '../facts/read-talent.ts';
import { DEFAULT_WEIGHTS } from '../weights.ts';
import { explainPair } from './explain-pair.ts';
import { jobFeatures, talentFeatures } from './features.ts';
import { scorePair } from './score-pair.ts';

const vocabulary = createSkillVocabulary();
const engine = createEmbeddedEngine();
const NOTHING = { location: null, remote: false, niceToHave: [], minMonthsExperience: null, posting: null };

const POSTING = `We run the payment platform of a chain of bakeries and look for an engineer who keeps it fast.
You design services in Python and Django, tune queries in PostgreSQL and ship them with Docker and Kubernetes.
You write pipelines in Terraform, watch latency with Prometheus and Grafana, and answer incidents with the rest of the team.
You review code, mentor juniors and plan migrations of large tables without downtime.`;

const CARER = `Nora Field
nora.field@example.com

Experience
Care Assistant, Elm House, 2018 - 2023
- Bathing, dressing and feeding residents, records of medication
- Night shifts alone on a floor of twenty rooms
Kitchen Helper, Oak Hotel, 2015 - 2018
- Washing, peeling and serving breakfast for guests`;

const ENGINEER = `Ivo Hart
ivo.hart@example.com

Experience
Backend Developer, Fern Bank, 2017 - 2024
- Wrote the ledger service in Python and Django and moved it to Kubernetes
- Cut slow PostgreSQL queries of the nightly reports; Docker images for all teams
- On call for payments, with alerts in Prometheus`;

const SAME_VECTOR = storedVector('bge', [1, 0]);

function job() {
  const stored = { ...NOTHING, title: 'Backend Engineer', description: POSTING, mustHave: [] };
  return jobFeatures('job', 1, readJob(stored, vocabulary), SAME_VECTOR);
}

function talent(text: string) {
  const { profile, document, evidence } = engine.parseCv(text, { year: 2025, month: 1 });
  const facts = readTalent({ profile: profile ?? {}, document, evidence, text }, vocabulary);
  // Far away without the posting; the encoder is led by what is copied.
  const vector = storedVector('bge', text === CARER ? [0, 1] : [1, 0]);
  return talentFeatures('talent', 1, facts, vector);
}

function seen(text: string) {
  const [own, asked] = [talent(text), job()];
  const scored = scorePair(own, asked, DEFAULT_WEIGHTS);
  return { ...scored, ...explainPair(own, asked, scored, DEFAULT_WEIGHTS), facts: own.facts };
}

const LINES = POSTING.split('\n');
const SHUFFLED = POSTING.split(/\s+/).toSorted(
  (one, other) => one.length - other.length || (one < other ? 1 : -1),
);
const COPIED = 'A part of the CV repeats the words of this posting. That part does not count.';

describe('A-12 text that is copied from the posting', () => {
  const honest = seen(CARER);

  test.each([
    ['at the end', `${CARER}\n\n${POSTING}`],
    ['in one line', `${CARER}\n${POSTING.replace(/\s+/g, ' ')}`],
    ['in another order', `${CARER}\n${SHUFFLED.join(' ')}`],
    ['line by line between own ones', `${CARER}\n${LINES.join('\n- Washing of linen and curtains\n')}`],
    ['as what was done in a job', `${CARER}\nHelper, Oak Hotel, 2012 - 2015\n${POSTING}`],
  ])('A-12 does not raise the score: %s', (_, text) => {
    const { score, parts, missing } = seen(text);
    expect(score).toBeLessThanOrEqual(honest.score);
    expect(parts.find(({ name }) => name === 'skills')?.found ?? []).toEqual([]);
    expect(missing[0]).toBe(COPIED);
  });

  test('A-12 takes nothing of what the rest of the CV shows', () => {
    const [own, padded] = [
      seen(ENGINEER),
      seen(
        `${ENGINEER}\n\nInterests\n- Rowing on the lake, chess, walks in the hills\n- Choir and theatre\n\n${POSTING}`,
      ),
    ];
    const found = (one: typeof own) => one.parts.find(({ name }) => name === 'skills')?.found;
    expect(found(padded)).toEqual(found(own) as string[]);
    expect(padded.score).toBeLessThanOrEqual(own.score);
    expect(own.missing).not.toContain(COPIED);
    expect(own.score).toBeGreaterThan(honest.score + 30);
  });

  test('A-12 a CV of nothing else says too little to judge', () => {
    const { score, reasons, missing } = seen(`Nora Field\n\n${POSTING}`);
    expect({ score, reasons }).toEqual({ score: 0, reasons: [] });
    expect(missing).toEqual(['The CV does not say enough to judge.', COPIED]);
  });
});

describe('A-12 words of the posting among own words', () => {
  test.each([4, 6])('A-12 own words behind every %i of the posting do not hide it', (every) => {
    const words = POSTING.split(/\s+/).map((word, at) => (at % every === 0 ? `${word} linen bedding` : word));
    expect(seen(`${CARER}\n${words.join(' ')}`).score).toBeLessThan(seen(CARER).score + 8);
  });

  test('A-12 a short list of its skills lifts a CV of another trade little', () => {
    const list = 'Skills\nPython, Django, PostgreSQL, Docker, Kubernetes, Terraform, Prometheus';
    expect(seen(`${CARER}\n\n${list}`).score).toBeLessThan(seen(ENGINEER).score / 2);
    const titled = `${CARER}\nBackend Engineer, Fern Bank, 2010 - 2015`;
    expect(seen(`${titled}\n\n${list}`).score).toBeGreaterThan(seen(titled).score + 10);
  });
});

describe('A-12 skills that nothing shows', () => {
  const listed = `${CARER}\n\nSkills\nPython, Django, PostgreSQL`;

  test('A-12 count less than those of a job, and the reason says so', () => {
    const shown = seen(`${CARER}\n- Python, Django, PostgreSQL`);
    const named = seen(listed);
    expect(named.parts[0]?.score as number).toBeLessThan(shown.parts[0]?.score as number);
    expect(named.parts[0]?.score as number).toBeGreaterThan(honestSkills());
    expect(named.reasons).toContain(
      'Mentioned, without a job or project that shows it: Python, Django, PostgreSQL.',
    );
    expect(named.parts[0]?.found).toContain('Django (mentioned only)');
    expect(shown.reasons).toContain('Has Python, Django, PostgreSQL.');
  });

  test('A-12 a must-have that is mentioned is met', () => {
    const stored = { ...NOTHING, title: 'Backend Engineer', description: '', mustHave: ['Python', 'Django'] };
    const asked = jobFeatures('job', 1, readJob(stored, vocabulary), null);
    expect(scorePair(talent(listed), asked, DEFAULT_WEIGHTS)).toMatchObject({ mustCount: 2, mustMet: 2 });
  });

  test('A-12 a list far longer than people have is worth less, skill by skill', () => {
    const further = Array.from({ length: 120 }, (_, at) => ({ name: `Tool ${at}` }));
    const of = (skills: readonly { readonly name: string }[]) => {
      const stored = { profile: { skills }, document: null, text: CARER, evidence: [] };
      const own = talentFeatures('talent', 1, readTalent(stored, vocabulary), null);
      return scorePair(own, job(), DEFAULT_WEIGHTS).parts[0] as number;
    };
    expect(of([{ name: 'Python' }, ...further])).toBeLessThan(of([{ name: 'Python' }]) / 2);
  });

  test('A-12 a skill that is repeated counts once, in the words and in what is encoded', () => {
    const counted = (times: number) => {
      const { facts } = talent(
        `${CARER}\n\nSkills\n${Array.from({ length: times }, () => 'Python').join(', ')}`,
      );
      return facts.counts?.[facts.terms.indexOf('python')];
    };
    expect([counted(1), counted(100)]).toEqual([0.5, 0.5]);
    const many = `${CARER}\n- ${'Python, '.repeat(100)}`;
    const stored = { profile: {}, document: null, evidence: [], text: many };
    const facts = readTalent(stored, vocabulary);
    expect(facts.counts?.[facts.terms.indexOf('python')] as number).toBeLessThan(8);
    expect(talentTexts(facts, stored)[0]?.match(/python/giu)?.length as number).toBeLessThan(8);
  });

  test('A-12 sentences behind a list of skills are no list, a list behind them is one', () => {
    const { facts } = talent(`${CARER}

Skills
AutoCAD, Excel
Details of firms
description - preparation of drawings for switchgear and of schedules for the cables of the plant
Python, Django, PostgreSQL`);
    const counted = (term: string) => facts.counts?.[facts.terms.indexOf(term)];
    expect(['schedul', 'cabl', 'autocad', 'python'].map(counted)).toEqual([1, 1, 0.5, 0.5]);
  });

  function honestSkills(): number {
    return seen(CARER).parts[0]?.score ?? 0;
  }
});

test('A-12 a talent of whom nothing is known but a name, a place and a language has no score', () => {
  const profile = {
    basics: { name: 'Nora', location: { city: 'Bath' } },
    languages: [{ language: 'English' }],
  };
  const own = talentFeatures(
    'talent',
    1,
    readTalent({ profile, document: null, text: null, evidence: null }, vocabulary),
    null,
  );
  for (const remote of [true, false]) {
    const stored = { ...NOTHING, title: 'Cook', description: 'English, 3 years', mustHave: [], remote };
    const asked = jobFeatures('job', 1, readJob(stored, vocabulary), null);
    const scored = scorePair(own, asked, DEFAULT_WEIGHTS);
    expect(scored).toMatchObject({ score: 0, jobToTalent: 0, talentToJob: 0 });
    expect(explainPair(own, asked, scored, DEFAULT_WEIGHTS)).toEqual({
      parts: [],
      reasons: [],
      missing: ['The CV does not say enough to judge.'],
    });
  }
});
