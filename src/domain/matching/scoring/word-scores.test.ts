import { describe, expect, test } from 'bun:test';
import { createSkillVocabulary } from '../facts/qualifications.ts';
import { readJob, type StoredJob } from '../facts/read-job.ts';
import { readTalent } from '../facts/read-talent.ts';
import { shapeOfTitle, titleCloseness } from '../facts/titles.ts';
import { stem } from '../facts/words.ts';
import { DEFAULT_WEIGHTS } from '../weights.ts';
import { jobFeatures, talentFeatures } from './features.ts';
import { scorePair } from './score-pair.ts';

const vocabulary = createSkillVocabulary();

function job(title: string, description: string) {
  const nothing = { location: null, remote: false, mustHave: [], niceToHave: [], minMonthsExperience: null };
  const stored: StoredJob = { ...nothing, title, description, posting: null };
  return jobFeatures('job', 1, readJob(stored, vocabulary), null);
}

function talent(profile: Record<string, unknown>) {
  return talentFeatures('talent', 1, readTalent({ profile, document: null }, vocabulary), null);
}

const close = (one: string, other: string) => titleCloseness(shapeOfTitle(one), shapeOfTitle(other));

describe('A-12 titles', () => {
  test('A-12 words for the same work are the same', () => {
    for (const [one, other] of [
      ['Legal Counsel', 'Attorney at Law'],
      ['Lorry driver', 'Truck Driver'],
      ['Strategic Purchaser', 'Strategic Buyer'],
      ['Head Chef', 'Cook'],
      ['Technical Support Engineer', 'IT Help Desk Engineer'],
    ] as const) {
      expect([one, other, close(one, other)]).toEqual([one, other, 1]);
    }
  });

  test('A-12 a general word in common is little', () => {
    expect(close('Financial Analyst', 'SOC Analyst')).toBeLessThan(0.4);
    expect(close('Store Manager', 'Product Manager')).toBeLessThan(0.4);
  });

  test('A-12 principal is a rank before a title and a profession at its end', () => {
    expect(shapeOfTitle('Principal Engineer')).toEqual({ words: ['engineer'], rank: 5 });
    expect(close('Assistant Principal', 'School Principal')).toBeGreaterThan(0.6);
  });

  test('A-12 what stands at the top of a CV counts beside the present title', () => {
    const profile = { basics: { label: 'Truck driver' }, current_title: 'CE', work: [{ position: 'CE' }] };
    const { titles } = talent(profile);
    expect(titles.some(({ words }) => words.includes('driver'))).toBe(true);
  });
});

describe('A-12 words', () => {
  test('A-12 endings do not part what belongs together', () => {
    expect(new Set(['analyst', 'analysis', 'analytics', 'analyzing'].map(stem)).size).toBe(1);
    expect(new Set(['administrator', 'administration', 'administrative'].map(stem)).size).toBe(1);
    expect(new Set(['manager', 'management', 'managing'].map(stem)).size).toBe(1);
    expect([stem('process'), stem('sales'), stem('c++')]).toEqual(['process', 'sale', 'c++']);
  });

  test('A-12 a rare word in common is worth more than a common one', () => {
    const asked = job('Engineer', 'Develop products for our customers. Commission turbines and switchgear.');
    const closeness = (summary: string) =>
      scorePair(talent({ work: [{ position: 'Engineer', summary }] }), asked, DEFAULT_WEIGHTS).parts[6] ?? 0;
    const rare = closeness('Commissioning of turbines, switchgear');
    expect(rare).toBeGreaterThan(closeness('Developing products, customers'));
  });

  test('A-12 what a posting asks for is found in its sentences too', () => {
    const { facts } = job(
      'Web Developer',
      'We build shops. You know PHP and MySQL well and have worked with WordPress for 3 years; a little Docker is welcome.',
    );
    const skills = facts.nice.flatMap((one) => (one.kind === 'skills' ? one.skills : []));
    expect(skills).toEqual(expect.arrayContaining(['php', 'mysql', 'wordpress', 'docker']));
    expect(facts.minMonths).toBe(36);
  });
});
