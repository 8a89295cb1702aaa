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

interface Person {
  readonly name: string;
  readonly pronoun: string;
  readonly age: string;
  readonly origin: string;
  readonly family: string;
  readonly school: string;
}

/** The same career, described for different people. */
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
    for (const { name, origin, school } of PEOPLE) {
      for (const word of [...name.split(/[ -]/), origin, school, 'widow', 'married', 'photos']) {
        if (['python', 'ruby', 'al'].includes(word.toLowerCase())) continue;
        expect(text).not.toContain(word.toLowerCase());
      }
    }
  });

  test('A-12 skills still count', () => {
    const [person] = PEOPLE;
    const without = { ...profileOf(person as Person), skills: [], work: [] };
    const facts = readTalent({ profile: without, document: null, ...NO_TEXT }, vocabulary);
    const scored = scorePair(talentFeatures('talent', 1, facts, null), job, DEFAULT_WEIGHTS);
    expect(scored.score).toBeLessThan((seen[0]?.scored.score ?? 0) - 20);
  });
});

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
    ['Ngozi Okonkwo', 'They', '17.11.1979', 'engaged', 'Nigerian', '15 Broad Street', ''],
    [
      'Sofía García Márquez',
      'She',
      'June 1994',
      'married',
      'Colombian',
      'Calle Mayor 3',
      'Picture on request',
    ],
    ['Priya Venkataraman', 'She', '1988', 'single', 'Indian', '22 Gandhi Nagar', ''],
    ['Wojciech Szczęsny', 'He', '5 maja 1971', 'separated', 'Polish', 'ul. Długa 5', ''],
    ['Li Wei', 'He', '2001-01-01', 'single', 'Chinese', '8 Peace Road', ''],
    ['Python Ruby', 'Mr', '1966', 'married', 'American', '1 Java Avenue', 'Photo enclosed'],
    ['Jean-Baptiste de la Tour', 'He', '14 July 1969', 'pacs', 'French', '6 rue de la Paix', ''],
    ['Yael Cohen', 'She', '9 Nisan 1983', 'married', 'Israeli', '40 Herzl Street', ''],
  ] as const
).map(([name, pronoun, born, status, nationality, street, photo]) => ({
  ...{ name, pronoun, born, status, nationality, street, photo },
}));

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

  test.each([
    [
      'Ich bin ledig.',
      'Ich bin verheiratet und schwerbehindert.',
      'Ich bin evangelisch, 52 Jahre alt.',
      'Ich bin geboren am 3. mai in ankara.',
    ],
    [
      'Je suis célibataire.',
      'Je suis mariée, musulmane.',
      'Je suis handicapé, 47 ans.',
      'Je suis née le 3 mai à oran.',
    ],
    ['Soy soltera.', 'Soy casado, católico.', 'Soy viuda, 58 años.', 'Soy nacida en cuzco.'],
    ['Sono nubile.', 'Sono sposato, cattolico.', 'Sono disabile, 50 anni.', 'Sono nato a tunisi.'],
    ['Ben ongehuwd.', 'Ben gehuwd, moslim.', 'Ben weduwe, 61 jaar oud.', 'Ben geboren in paramaribo.'],
    [
      'Jestem panna.',
      'Jestem mężatka, katolik.',
      'Jestem rozwiedziony, 55 lat.',
      'Jestem urodzona w kijowie.',
    ],
  ])('A-12 nor do they in the sentences of other languages: %s', (...sentences) => {
    const [first, ...others] = sentences.map((sentence) =>
      seenOf(
        cvOf(APPLICANTS[0] as Applicant).replace(
          'Backend developer for',
          `${sentence}\nBackend developer for`,
        ),
      ),
    );
    for (const other of others) {
      expect(other.facts.terms).toEqual(first?.facts.terms ?? []);
      expect(other.scored).toEqual(first?.scored as typeof other.scored);
    }
  });

  test.each([
    ['He built it.', 'She built it.', 'They built it.'],
    ['On maternity leave.', 'On paternity leave.', 'On parental leave.'],
    ['Military service done.', 'Civilian service done.', 'Compulsory service done.'],
    ['Single.', 'Married.', 'Widowed, a mother of two.', 'A father of three sons.'],
    ['Born in Ankara.', 'Born in oslo in 1971.', 'Born on 3 May 1999.'],
    ['Grundwehrdienst geleistet.', 'Zivildienst geleistet.', 'Wehrdienst geleistet.'],
    ['In Elternzeit.', 'In Mutterschutz.', 'In Erziehungsurlaub.'],
    ['Ledig.', 'Verwitwet.', 'Mutter von zwei Kindern.'],
    ['Er hat das mit der Hand gebaut.', 'Sie hat das mit der Hand gebaut.'],
    ['Aufbau der Abteilung mit seinem Team.', 'Aufbau der Abteilung mit ihrem Team.'],
    ['Il a construit les outils.', 'Elle a construit les outils.'],
  ])('A-12 nor do pronouns, leave for children, service, family or birth: %s', (...sentences) => {
    const [first, ...others] = sentences.map((sentence) =>
      seenOf(
        cvOf(APPLICANTS[0] as Applicant).replace(
          'Backend developer for',
          `${sentence}\nBackend developer for`,
        ),
      ),
    );
    for (const other of others) {
      expect([other.facts.terms, other.texts]).toEqual([
        first?.facts.terms,
        first?.texts,
      ] as (typeof other.texts)[]);
      expect(other.scored).toEqual(first?.scored as typeof other.scored);
    }
  });

  test('A-12 the words of the text are compared without those of the person', () => {
    for (const one of APPLICANTS) {
      const { facts, texts } = seenOf(cvOf(one));
      const known = `${facts.terms.join(' ')} ${texts.join(' ')}`.toLowerCase().split(/[^\p{L}]+/u);
      for (const word of `${one.name} ${one.nationality} ${one.status}`.toLowerCase().split(/[^\p{L}]+/u)) {
        if (word !== 'python' && word.length > 2) expect(known).not.toContain(word);
      }
    }
  });
});
