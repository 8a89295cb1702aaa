import { describe, expect, test } from 'bun:test';
import { createSkillVocabulary } from '../facts/qualifications.ts';
import { readJob } from '../facts/read-job.ts';
import { readTalent, talentText } from '../facts/read-talent.ts';
import { DEFAULT_WEIGHTS } from '../weights.ts';
import { explainPair } from './explain-pair.ts';
import { jobFeatures, talentFeatures } from './features.ts';
import { scorePair } from './score-pair.ts';

const vocabulary = createSkillVocabulary();

interface Person {
  readonly name: string;
  readonly pronoun: string;
  readonly age: string;
  readonly origin: string;
  readonly family: string;
  readonly school: string;
}

/** The same career, told by or about different people. */
function profileOf({ name, pronoun, age, origin, family, school }: Person): Record<string, unknown> {
  return {
    basics: {
      name,
      image: `https://photos.example/${name}.jpg`,
      email: `${name.toLowerCase().replace(' ', '.')}@example.com`,
      summary: `${name} is a ${age}-year-old ${origin} developer. ${pronoun} is ${family}.`,
      location: { city: 'Berlin', countryCode: 'DE' },
      profiles: [{ network: 'GitHub', username: name }],
    },
    birthDate: age,
    gender: pronoun,
    nationality: origin,
    maritalStatus: family,
    photo: name,
    work: [
      {
        name: `${origin} Cultural Association`,
        position: 'Backend Developer',
        startDate: '2019-01',
        endDate: '2023-12',
        summary: `${pronoun} built the ticket service in Python, ${age} years old at the time. Born in ${origin}.`,
        highlights: [
          `${pronoun} led a team of four`,
          `As a ${family} ${origin} woman she mentored others`,
          'Docker',
        ],
      },
    ],
    education: [{ institution: school, studyType: 'Bachelor', area: 'Computer Science' }],
    skills: [{ name: 'Python' }, { name: 'PostgreSQL' }],
    total_months_experience: 60,
  };
}

const PEOPLE: readonly Person[] = [
  {
    name: 'Anna Schmidt',
    pronoun: 'She',
    age: '24',
    origin: 'German',
    family: 'single',
    school: 'TU Berlin',
  },
  {
    name: 'Mohammed Al-Farsi',
    pronoun: 'He',
    age: '58',
    origin: 'Syrian',
    family: 'married',
    school: 'Damascus University',
  },
  {
    name: 'Nguyễn Thị Minh',
    pronoun: 'They',
    age: '41',
    origin: 'Vietnamese',
    family: 'widowed',
    school: 'Hanoi University',
  },
  {
    name: 'Python Ruby',
    pronoun: 'Mr',
    age: '33',
    origin: 'Nigerian',
    family: 'divorced',
    school: 'University of Lagos',
  },
];

const POSTING = {
  title: 'Backend Developer',
  description:
    'Python services for a German ticket shop. We are young, he or she is welcome, married or single.',
  location: 'Berlin, Germany',
  remote: false,
  mustHave: ['Python', 'PostgreSQL or MySQL', '3 years of experience', "Bachelor's degree"],
  niceToHave: ['Docker'],
  minMonthsExperience: null,
  posting: null,
};

describe('A-12 fairness', () => {
  const job = jobFeatures('job', 1, readJob(POSTING, vocabulary), null);
  const seen = PEOPLE.map((person) => {
    const facts = readTalent({ profile: profileOf(person), document: { language: 'en' } }, vocabulary);
    const talent = talentFeatures('talent', 1, facts, null);
    const scored = scorePair(talent, job, DEFAULT_WEIGHTS);
    return {
      facts,
      text: talentText(facts),
      scored,
      words: explainPair(talent, job, scored, DEFAULT_WEIGHTS),
    };
  });

  test('A-12 other names, ages, sexes, origins, families, photos and schools change nothing: not a fact, not a word, not a score', () => {
    const [first, ...others] = seen;
    for (const other of others) expect(other).toEqual(first as (typeof seen)[number]);
  });

  test('A-12 what is stored, and what a model is asked, names none of it', () => {
    const told = JSON.stringify(seen).toLowerCase();
    for (const { name, origin, school } of PEOPLE) {
      for (const word of [...name.split(/[ -]/), origin, school, 'widow', 'married', 'photos']) {
        if (['python', 'ruby', 'al'].includes(word.toLowerCase())) continue;
        expect(told).not.toContain(word.toLowerCase());
      }
    }
  });

  test('A-12 what somebody can do still counts', () => {
    const [person] = PEOPLE;
    const without = { ...profileOf(person as Person), skills: [], work: [] };
    const facts = readTalent({ profile: without, document: null }, vocabulary);
    const scored = scorePair(talentFeatures('talent', 1, facts, null), job, DEFAULT_WEIGHTS);
    expect(scored.score).toBeLessThan((seen[0]?.scored.score ?? 0) - 20);
  });
});
