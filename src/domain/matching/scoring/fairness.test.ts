import { describe, expect, test } from 'bun:test';
import { createEmbeddedEngine } from '../../documents/embedded-engine.ts';
import { createSkillVocabulary } from '../facts/qualifications.ts';
import { readJob } from '../facts/read-job.ts';
import { readTalent, talentTexts } from '../facts/read-talent.ts';
import { DEFAULT_WEIGHTS } from '../weights.ts';
import { explainPair } from './explain-pair.ts';
import { jobFeatures, talentFeatures } from './features.ts';
import { scorePair } from './score-pair.ts';

const vocabulary = createSkillVocabulary();
const NO_TEXT = { text: null, evidence: null };

interface Applicant {
  readonly name: string;
  readonly pronoun: string;
  readonly born: string;
  readonly status: string;
  readonly nationality: string;
  readonly street: string;
  readonly photo: string;
}

/** Names of many cultures, some of which are words of work, with all that a CV may say of the person. */
const APPLICANTS: readonly Applicant[] = (
  [
    ['Anna Schmidt', 'She', '12 May 1998', 'single', 'German', 'Lindenstraße 12', 'Photo: anna.jpg'],
    ['Mohammed Al-Farsi', 'He', '3 January 1962', 'married, 4 children', 'Syrian', '4 Al Nasr Street', ''],
    ['Nguyễn Thị Minh', 'She', '01/02/1985', 'widowed', 'Vietnamese', '27 Ly Thuong Kiet Road', ''],
    ['Mason Baker', 'He', '1990-07-30', 'divorced', 'British', '9 Cook Lane', 'Photograph attached'],
    ['Sofía García Márquez', 'She', 'June 1994', 'married', 'Colombian', 'Calle Mayor 3', ''],
    ['Python Ruby', 'Mr', '1966', 'married', 'American', '1 Java Avenue', 'Photo enclosed'],
  ] as const
).map(([name, pronoun, born, status, nationality, street, photo]) => ({
  ...{ name, pronoun, born, status, nationality, street, photo },
}));

/** The same career, described for different people. */
function profileOf({ name, pronoun, born, nationality, status }: Applicant): Record<string, unknown> {
  return {
    basics: {
      name,
      image: `https://photos.example/${name}.jpg`,
      email: `${name.toLowerCase().replace(' ', '.')}@example.com`,
      summary: `${name} is a ${nationality} developer, born ${born}. ${pronoun} is ${status}.`,
      location: { city: 'Berlin', countryCode: 'DE' },
      profiles: [{ network: 'GitHub', username: name }],
    },
    birthDate: born,
    gender: pronoun,
    nationality,
    maritalStatus: status,
    photo: name,
    work: [
      {
        name: `${nationality} Cultural Association`,
        position: 'Backend Developer',
        startDate: '2019-01',
        endDate: '2023-12',
        summary: `${pronoun} built the ticket service in Python, 23 years old at the time. Born on ${born}.`,
        highlights: [
          `${pronoun} led a team of four`,
          `As a ${status} ${nationality} woman she mentored others`,
          'Docker',
        ],
      },
    ],
    education: [
      { institution: `${nationality} University`, studyType: 'Bachelor', area: 'Computer Science' },
    ],
    skills: [{ name: 'Python' }, { name: 'PostgreSQL' }],
    total_months_experience: 60,
  };
}

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
  const seen = APPLICANTS.map((person) => {
    const facts = readTalent(
      { profile: profileOf(person), document: { language: 'en' }, ...NO_TEXT },
      vocabulary,
    );
    const talent = talentFeatures('talent', 1, facts, null);
    const scored = scorePair(talent, job, DEFAULT_WEIGHTS);
    return {
      facts,
      texts: talentTexts(facts, { profile: null, document: null, ...NO_TEXT }),
      scored,
      words: explainPair(talent, job, scored, DEFAULT_WEIGHTS),
    };
  });

  test('A-12 other names, ages, sexes, origins, families, photos and schools change nothing: not a fact, not a word, not a score', () => {
    const [first, ...others] = seen;
    for (const other of others) expect(other).toEqual(first as (typeof seen)[number]);
  });

  test('A-12 what is stored, and what a model is asked, names none of it', () => {
    const text = JSON.stringify(seen).toLowerCase();
    for (const { name, nationality } of APPLICANTS) {
      for (const word of [...name.split(/[ -]/), nationality, 'widow', 'married', 'photos']) {
        if (['python', 'ruby', 'al'].includes(word.toLowerCase())) continue;
        expect(text).not.toContain(word.toLowerCase());
      }
    }
  });
});

function cvOf({ name, pronoun, born, status, nationality, street, photo }: Applicant): string {
  return `${name}
${street}, 10115 Berlin, Germany
${name.toLowerCase().replace(/[^a-z]+/g, '.')}@example.com
Date of birth: ${born}
Marital status: ${status}
Nationality: ${nationality}
${photo}

Profile
Backend developer for payment services. ${pronoun} has led small teams.

Work experience
01/2019 - 12/2023 Backend Developer, Ticketwerk GmbH
- built the ticket service in Python with PostgreSQL
- moved deployments to Docker and Kubernetes
03/2015 - 12/2018 Junior Developer, Ladenbau AG
- maintained the invoicing of the shop system

Education
2011 - 2015 Bachelor of Science in Computer Science, Technische Universität Berlin

Skills
Python, PostgreSQL, Docker, Kubernetes, REST
`;
}

describe('A-12 fairness of texts', () => {
  const engine = createEmbeddedEngine();
  const description = `We look for a backend developer who builds ticket services in Python and PostgreSQL.
You run Docker and Kubernetes. Our bakers, masons and cooks order on ruby.example; the office is in Peace Road.`;
  const posting = { ...POSTING, description };
  const job = jobFeatures('job', 1, readJob(posting, vocabulary), null);

  function seenOf(text: string) {
    const { profile, document, evidence } = engine.parseCv(text, { year: 2025, month: 1 });
    const stored = { profile, document, evidence, text };
    const facts = readTalent(stored, vocabulary);
    const talent = talentFeatures('talent', 1, facts, null);
    const scored = scorePair(talent, job, DEFAULT_WEIGHTS);
    return { facts, texts: talentTexts(facts, stored), scored };
  }

  test('A-12 names, pronouns, births, families, nationalities, photos and streets in a text change nothing', () => {
    const [first, ...others] = APPLICANTS.map((one) => seenOf(cvOf(one)));
    for (const other of others) expect(other).toEqual(first as ReturnType<typeof seenOf>);
    expect(first?.facts.terms).toContain('deploy');
  });

  test('A-12 nor do they where the reader finds nothing and the words of the text are all there is', () => {
    const [first, ...others] = APPLICANTS.map((one) => {
      const stored = { profile: {}, document: null, evidence: [], text: cvOf(one) };
      const facts = readTalent(stored, vocabulary);
      const scored = scorePair(talentFeatures('talent', 1, facts, null), job, DEFAULT_WEIGHTS);
      return { facts, texts: talentTexts(facts, stored), scored };
    });
    for (const other of others) expect(other).toEqual(first as NonNullable<typeof first>);
    // And it is a score: such a text falls back on its words.
    expect(first?.scored.score).toBeGreaterThan(30);
  });

  const seenWith = (sentence: unknown) =>
    seenOf(
      cvOf(APPLICANTS[0] as Applicant).replace('Backend developer for', `${sentence}\nBackend developer for`),
    );

  test.each([
    ['Ich bin ledig.', 'Ich bin verheiratet und schwerbehindert.', 'Ich bin evangelisch, 52 Jahre alt.'],
    ['Je suis célibataire.', 'Je suis mariée, musulmane.', 'Je suis née le 3 mai à oran.'],
    ['Soy soltera.', 'Soy casado, católico.', 'Soy viuda, 58 años.', 'Soy nacida en cuzco.'],
    ['Sono nubile.', 'Sono disabile, 50 anni.', 'Sono nato a tunisi.'],
    ['Ben ongehuwd.', 'Ben gehuwd, moslim.', 'Ben weduwe, 61 jaar oud.'],
    ['Jestem panna.', 'Jestem mężatka, katolik.', 'Jestem urodzona w kijowie.'],
  ])('A-12 nor do they in the sentences of other languages: %s', (...sentences) => {
    const [first, ...others] = sentences.map(seenWith);
    for (const { facts, scored } of others) {
      expect([facts.terms, scored]).toEqual([first?.facts.terms, first?.scored] as [string[], typeof scored]);
    }
  });

  test.each([
    ['He built it.', 'She built it.', 'They built it.'],
    ['On maternity leave.', 'On paternity leave.', 'On parental leave.'],
    ['Military service done.', 'Civilian service done.', 'Compulsory service done.'],
    ['Single.', 'Married.', 'Widowed, a mother of two.', 'A father of three sons.'],
    ['Born in Ankara.', 'Born in oslo in 1971.', 'Born on 3 May 1999.'],
    ['In Elternzeit.', 'In Mutterschutz.', 'In Erziehungsurlaub.'],
    ['Er hat das mit der Hand gebaut.', 'Sie hat das mit der Hand gebaut.'],
    ['Aufbau der Abteilung mit seinem Team.', 'Aufbau der Abteilung mit ihrem Team.'],
    ['Il a construit les outils.', 'Elle a construit les outils.'],
  ])('A-12 nor do pronouns, leave for children, service, family or birth: %s', (...sentences) => {
    const [first, ...others] = sentences.map(seenWith);
    for (const other of others) {
      expect([other.facts.terms, other.texts]).toEqual([
        first?.facts.terms,
        first?.texts,
      ] as (typeof other.texts)[]);
      expect(other.scored).toEqual(first?.scored as typeof other.scored);
    }
  });
});
