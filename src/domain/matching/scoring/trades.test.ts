import { describe, expect, test } from 'bun:test';
import { createEmbeddedEngine } from '../../documents/embedded-engine.ts';
import { createSkillVocabulary } from '../facts/qualifications.ts';
import { readJob } from '../facts/read-job.ts';
import { readTalent } from '../facts/read-talent.ts';
import { shapeOfTitle, titleCloseness } from '../facts/titles.ts';
import { inEnglish } from '../facts/words.ts';
import { DEFAULT_WEIGHTS } from '../weights.ts';
import { comparedPair, jobFeatures, talentFeatures } from './features.ts';
import { scorePair } from './score-pair.ts';

const vocabulary = createSkillVocabulary();
const engine = createEmbeddedEngine();

function job(mustHave: readonly string[], title = 'Worker', description = '') {
  const rest = { location: null, remote: false, niceToHave: [], minMonthsExperience: null, posting: null };
  const stored = { title, description, mustHave, ...rest };
  return jobFeatures('job', 1, readJob(stored, vocabulary), null);
}

function talent(text: string) {
  const { profile, document, evidence } = engine.parseCv(text, { year: 2025, month: 1 });
  const facts = readTalent({ profile: profile ?? {}, document, evidence, text }, vocabulary);
  return talentFeatures('talent', 1, facts, null);
}

function isMet(mustHave: string, lines: string): boolean {
  const asked = job([mustHave]);
  const own = talent(`Kim Berg\nExperience\nHelper, Oak Hotel, 2015 - 2023\n- cleaning of rooms\n\n${lines}`);
  const { mustCount, mustMet } = scorePair(own, asked, DEFAULT_WEIGHTS);
  expect([mustHave, mustCount]).toEqual([mustHave, 1]);
  return mustMet === 1;
}

describe('A-12 must-haves of trades', () => {
  test.each([
    ['Führerschein Klasse CE', 'Licences\nDriving licence C+E with code 95', true],
    ['Führerschein Klasse CE', 'Führerschein\nKlasse B', false],
    ['Führerschein Klasse B', 'Führerschein\nKlasse CE', true],
    ['Driving licence category B', 'Licences\nForklift licence', false],
    ['Level 3 food hygiene certificate', 'Certificates\nLevel 3 Food Hygiene', true],
    ['Level 3 food hygiene certificate', 'Certificates\nLevel 2 Food Hygiene', false],
    ['Qualified Teacher Status (QTS)', 'Teacher with QTS and ten years of service', true],
    ['Qualified Teacher Status (QTS)', 'Assistant of a teacher with ten years of service', false],
    ['Sehr gute Deutschkenntnisse (C1)', 'Sprachen\nDeutsch Muttersprache', true],
    ['Englisch B2', 'Sprachen\nDeutsch Muttersprache, Englisch A2', false],
  ])('A-12 %s, with %s: %p', (mustHave, lines, expected) => {
    expect(isMet(mustHave, lines)).toBe(expected);
  });

  test.each([
    ['at least five years of experience', 60],
    ['Mindestens 1 Jahr Fahrpraxis', 12],
    ['3-5 years of experience', 36],
  ])('A-12 %s are %i months', (text, months) => {
    expect(job([text]).months).toBe(months);
  });

  test('A-12 vocational training is what it is, and no school-leaving certificate', () => {
    const profile = {
      highest_degree_level: 'secondary',
      education: [{ studyType: 'Ausbildung zur Friseurin' }],
    };
    const facts = readTalent({ profile, document: null, text: null, evidence: null }, vocabulary);
    expect(facts.degree).toBe(2);
  });
});

test('A-12 German titles are those of the same work, with the field that they are joined with', () => {
  const near = (one: string, other: string) => titleCloseness(shapeOfTitle(one), shapeOfTitle(other));
  for (const [one, other] of [
    ['Berufskraftfahrer CE (m/w/d)', 'HGV Driver'],
    ['Gesundheits- und Krankenpflegerin', 'Registered Nurse'],
    ['Instandhaltungsmechaniker', 'Industriemechaniker Instandhaltung'],
  ] as const) {
    expect([one, near(one, other)]).toEqual([one, 1]);
  }
  expect(near('Finanzbuchhalterin', 'Bilanzbuchhalter')).toBeGreaterThan(0.4);
  expect(near('Finanzbuchhalterin', 'Bilanzbuchhalter')).toBeLessThan(1);
  expect(near('Bürgermeister', 'Elektromeister')).toBe(0);
});

test('A-12 German nouns of work count, which are always written with a capital; names do not', () => {
  const { facts } = talent(
    'Jörg Hansmann\n\nBerufserfahrung\n03/2015 - heute Fahrer, Trans-Ruhr GmbH\n- Ladungssicherung und Zustellung mit Ingrid Vollmer in Wanne',
  );
  expect(facts.terms).toEqual(expect.arrayContaining(['ladungss', 'zustellu']));
  for (const name of ['ingrid', 'vollmer', 'wanne']) expect(facts.terms).not.toContain(name);
});

describe('A-12 a CV in another language than the posting', () => {
  const BUCHHALTER = `Wir suchen einen Buchhalter für unsere Finanzabteilung.
- Buchhaltung mit Monats- und Jahresabschluss
- Prüfung der Rechnungen von Lieferanten und Abstimmung der Bankkonten
- Erklärungen zur Umsatzsteuer
- Berichte für die Leitung`;
  const COMPTABLE = `Zoé Lefèvre
zoe.lefevre@example.fr

Expérience professionnelle
Comptable générale, Société Valmont, 2017 - 2024
- Comptabilité générale, clôtures mensuelles et annuelles
- Rapprochements bancaires et contrôle des factures des fournisseurs
- Déclarations de TVA et rapports pour la direction financière`;
  const VERKAEUFER = `Jörg Übelacker
joerg.uebelacker@example.de

Berufserfahrung
Verkäufer für Möbel, Möbelhaus Süd, 2014 - 2024
- Beratung der Kunden und Verkauf von Küchen
- Kasse und Lieferung für das Möbelhaus`;
  const asked = job([], 'Buchhalter (m/w/d)', BUCHHALTER);
  const scoreOf = (text: string) => scorePair(talent(text), asked, DEFAULT_WEIGHTS).score;

  test('A-12 comes before one of another trade in the language of the posting', () => {
    expect(scoreOf(COMPTABLE)).toBeGreaterThan(scoreOf(VERKAEUFER) + 25);
  });

  test('A-12 is compared by English names, and one in the same language by its own words', () => {
    const [french, german] = [talent(COMPTABLE), talent(VERKAEUFER)];
    const terms = comparedPair(french, asked).talent.facts.terms;
    expect(terms).toContain('invoic');
    expect(comparedPair(german, asked)).toEqual({ talent: german, job: asked });
    expect(german.facts.terms).not.toContain('customer');
  });

  test.each([
    ['Księgowa', 'Buchhalterin'],
    ['Cuisinière', 'Bucătar'],
  ])('A-12 titles are compared across languages: %s and %s', (one, other) => {
    const near = titleCloseness(shapeOfTitle(one), shapeOfTitle(other));
    expect(near).toBeGreaterThan(0.4);
    expect(titleCloseness(shapeOfTitle(one), shapeOfTitle('Florist'))).toBe(0);
  });

  test('A-12 English words stay as they are', () => {
    const sentence =
      'Unsupervised data ingestion, multinational clientele, a stage of formation, Gartner reports';
    expect(inEnglish(sentence).replace('national', 'multinational')).toBe(
      sentence.replace('clientele', 'customer'),
    );
  });
});
