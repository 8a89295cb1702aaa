import { describe, expect, test } from 'bun:test';
import { createSeededRandom } from '../../../../test/doubles/seeded-random.ts';
import { meanVector, storedVector } from '../facts/facts.ts';
import { createSkillVocabulary } from '../facts/qualifications.ts';
import { jobTexts, readJob, type StoredJob } from '../facts/read-job.ts';
import { readTalent, talentTexts } from '../facts/read-talent.ts';
import { shapeOfTitle, titleCloseness } from '../facts/titles.ts';
import { stem } from '../facts/words.ts';
import { DEFAULT_WEIGHTS } from '../weights.ts';
import { explainPair } from './explain-pair.ts';
import { jobFeatures, talentFeatures } from './features.ts';
import { appliedWeights, nearTitles, scorePair } from './score-pair.ts';

const vocabulary = createSkillVocabulary();
const NO_TEXT = { text: null, evidence: null };
const NOTHING_ASKED: StoredJob = {
  title: 'Backend Developer',
  description: '',
  location: null,
  remote: false,
  mustHave: [],
  niceToHave: [],
  minMonthsExperience: null,
  posting: null,
};

const skills = (...names: string[]) => ({ skills: names.map((name) => ({ name })) });
const developer = { work: [{ position: 'Backend Developer', startDate: '2018-01', endDate: '2023-12' }] };

const close = (one: string, other: string) => titleCloseness(shapeOfTitle(one), shapeOfTitle(other));

function job(fields: Partial<StoredJob>) {
  return jobFeatures('job', 1, readJob({ ...NOTHING_ASKED, ...fields }, vocabulary), null);
}

function talent(profile: Record<string, unknown>, document: unknown = null) {
  return talentFeatures('talent', 1, readTalent({ profile, document, ...NO_TEXT }, vocabulary), null);
}

function explained(one: ReturnType<typeof talent>, other: ReturnType<typeof job>) {
  const scored = scorePair(one, other, DEFAULT_WEIGHTS);
  return { scored, ...explainPair(one, other, scored, DEFAULT_WEIGHTS) };
}

describe('A-12 a score', () => {
  test('A-12 is bounded by the must-haves that are met', () => {
    const asked = job({ mustHave: ['Python', 'Kafka', 'Terraform'] });
    const scores = [['Python'], ['Python', 'Kafka'], ['Python', 'Kafka', 'Terraform']].map((names) =>
      scorePair(talent({ ...developer, ...skills(...names) }), asked, DEFAULT_WEIGHTS),
    );
    expect(scores.map(({ mustMet }) => mustMet)).toEqual([1, 2, 3]);
    const [one, two, three] = scores.map(({ score }) => score);
    expect(one as number).toBeLessThan(two as number);
    expect(two as number).toBeLessThan(66);
    expect(three as number).toBeGreaterThan(90);
  });

  test('A-12 must-haves bound by part and leave the order; those read out of a posting are less sure', () => {
    const musts = { mustHave: ['PostgreSQL', 'Kafka'] };
    const of = (asked: ReturnType<typeof job>, ...names: string[]) =>
      scorePair(talent({ ...developer, ...skills(...names) }), asked, DEFAULT_WEIGHTS).score;
    const [given, read] = [job(musts), job({ ...musts, isMustGiven: false })];
    expect(of(given, 'Kafka')).toBeGreaterThan(of(given, 'Haskell'));
    expect(of(given, 'Haskell')).toBeLessThanOrEqual(35);
    expect(of(read, 'Haskell')).toBeGreaterThan(of(given, 'Haskell'));
    expect(of(read, 'Kafka')).toBeGreaterThan(of(read, 'Haskell'));
    // A candidate below the bound is not level with one further below.
    const cook = { work: [{ position: 'Cook' }] };
    const other = scorePair(talent({ ...cook, ...skills('Haskell') }), given, DEFAULT_WEIGHTS).score;
    expect(other).toBeLessThan(of(given, 'Haskell'));
  });

  test('A-12 says what it counts: years and degrees are no lines of the list of must-haves', () => {
    const cook = talent({ ...developer, ...skills('Python', 'SQL', 'Docker') });
    const listed = { mustHave: ['Python', 'SQL', 'Docker'] };
    expect(explained(cook, job(listed)).reasons[0]).toBe('Meets 3 of 3 must-haves.');
    const years = job({ ...listed, minMonthsExperience: 24 });
    expect(explained(cook, years).reasons[0]).toBe('Meets 4 of 4 requirements, including experience.');
  });

  test('A-12 a near skill is found in place of the required one, and is named', () => {
    const { parts, missing } = explained(
      talent(skills('React', 'MySQL')),
      job({ mustHave: ['JavaScript', 'PostgreSQL', 'Rust'] }),
    );
    expect(parts[0]?.found).toEqual(['JavaScript (has React)', 'PostgreSQL (has MySQL)']);
    expect(missing[0]).toBe('Rust (must have)');
  });

  test('A-12 takes one of several alternatives as enough, and each of a list', () => {
    const either = job({ mustHave: ['Tableau or Power BI'] });
    const both = job({ mustHave: ['Tableau and Snowflake'] });
    const analyst = talent(skills('Tableau'));
    expect(scorePair(analyst, either, DEFAULT_WEIGHTS)).toMatchObject({ mustMet: 1, mustCount: 1 });
    expect(explained(analyst, either).missing).not.toContain('Power BI (must have)');
    expect(explained(analyst, both).missing).toContain('Snowflake');
  });

  test('A-12 a skill that several lines name weighs once', () => {
    const once = job({ mustHave: ['Terraform'] });
    const often = job({ mustHave: ['Terraform', 'Knowledge of Terraform', 'Terraform in daily work'] });
    const mixed = job({ mustHave: ['Terraform', 'Terraform and Kafka'] });
    const weights = ({ skillItems }: ReturnType<typeof job>) =>
      skillItems.flatMap(({ isMust, weight }) => (isMust ? [weight] : []));
    expect(weights(often)).toEqual([...weights(once), 0, 0]);
    expect(often.skillSureness).toBe(once.skillSureness);
    expect(weights(mixed)[1]).toBeCloseTo(Math.SQRT2 / 2);
    const other = talent({ ...developer, ...skills('Haskell') });
    expect(explained(other, often).parts[0]?.weight).toBe(explained(other, once).parts[0]?.weight as number);
  });

  test('A-12 reads years, degrees, languages and certificates out of requirements', () => {
    const asked = job({
      mustHave: ['5+ years of experience', "Bachelor's degree", 'Fluent German', 'Forklift licence'],
    });
    const fits = talent({
      total_months_experience: 70,
      highest_degree_level: 'master',
      languages: [{ language: 'German', fluency: 'C1' }],
      certificates: [{ name: 'Forklift licence, counterbalance' }],
    });
    expect(scorePair(fits, asked, DEFAULT_WEIGHTS)).toMatchObject({ mustMet: 5, mustCount: 5 });
    const { missing } = explained(talent({ total_months_experience: 20 }), asked);
    expect(missing).toContain('1 year 8 months of experience; 5 years required.');
    expect(missing).toContain('Requires a bachelor’s degree; the CV names no degree.');
    expect(missing).toContain('German: Fluent German');
  });

  test('A-12 experience in other work is no reason for a job, though its years are met', () => {
    const asked = job({ minMonthsExperience: 24 });
    const gardener = { work: [{ position: 'Gardener', startDate: '2018-01', endDate: '2023-12' }] };
    const other = explained(talent(gardener), asked);
    expect(other.reasons.join('\n')).not.toContain('of experience');
    expect(other.missing).toContain('Has the 2 years of experience required, but mostly in other work.');
    const same = explained(talent(developer), asked);
    expect(same.reasons).toContain('At least 2 years of experience, as required.');
  });

  test('A-12 a degree is as required, higher, lower, or replaced by experience where the job allows it', () => {
    const master = job({ mustHave: ["Master's degree in Biology"] });
    const has = (level: string) => talent({ ...developer, highest_degree_level: level });
    expect(explained(has('bachelor'), master).missing).toContain(
      'Has a bachelor’s degree; a master’s degree is required.',
    );
    expect(explained(has('master'), master).reasons).toContain('Has a master’s degree, as required.');
    expect(explained(has('doctorate'), master).reasons).toContain(
      'Has a doctorate; a master’s degree is required.',
    );
    const instead = job({ mustHave: ["Bachelor's degree or equivalent experience"] });
    const { reasons, missing } = explained(talent({ ...developer, total_months_experience: 70 }), instead);
    expect(reasons).toContain('Experience in place of a bachelor’s degree, as the job allows.');
    expect(missing.join('\n')).not.toContain('degree');
  });

  test('A-12 names the position that fits, and claims none where only the text fits', () => {
    const asked = job({ title: 'Sales Director' });
    const as = (position: string) => explained(talent({ work: [{ position }] }), asked);
    expect(as('Director of Sales').reasons).toContain(
      'Has worked as Director of Sales, which is this kind of job.',
    );
    expect(as('Gardener').missing).toContain('No title close to Sales Director; the latest is Gardener.');
    expect(as('Sales trainee').missing).toContain(
      'Has worked as Sales trainee, several levels below Sales Director.',
    );
    const clerk = { work: [{ position: 'Clerk', highlights: ['Litigation paralegal for two lawyers'] }] };
    const { reasons } = explained(talent(clerk), job({ title: 'Litigation Paralegal' }));
    expect(reasons).toContain('Describes the work of Litigation Paralegal under another title.');
  });

  test('A-12 more experience than asked for is no better and no worse', () => {
    const asked = job({ minMonthsExperience: 24 });
    const after = (months: number) =>
      scorePair(talent({ total_months_experience: months }), asked, DEFAULT_WEIGHTS).score;
    expect([24, 120, 500].map(after)).toEqual([after(24), after(24), after(24)]);
    expect(after(12)).toBeLessThan(after(24));
  });

  test('A-12 place: the same city before the country, remote before both', () => {
    const at = (city: string, countryCode: string) => talent({ basics: { location: { city, countryCode } } });
    const there = job({ location: 'Berlin, Germany' });
    const [same, country, far] = [at('Berlin', 'DE'), at('Munich', 'DE'), at('Lisbon', 'PT')].map(
      (one) => scorePair(one, there, DEFAULT_WEIGHTS).parts[5],
    );
    expect([same, country, far]).toEqual([1, 0.4, 0]);
    expect(scorePair(at('Lisbon', 'PT'), job({ remote: true }), DEFAULT_WEIGHTS).parts[5]).toBe(1);
  });

  test('A-12 a whole region, country or area is named as such, and who lives there lives in the place of the job', () => {
    const from = (countryCode: string, region: string | null, location: string) =>
      explained(
        talent({ ...developer, basics: { location: { city: 'Ely', region, countryCode } } }),
        job({ location }),
      );
    expect(from('DE', 'Bayern', 'Bavaria, Germany').reasons).toContain('Lives in Bavaria.');
    expect(from('PT', null, 'Remote (EU)').reasons).toContain('Lives in the European Union.');
    expect(from('GB', null, 'EU only').missing).toContain(
      'Lives in another country; the job is in the European Union.',
    );
    expect(from('GB', null, 'United Kingdom').reasons).toContain('Lives in the United Kingdom.');
    expect(from('GB', null, 'Leeds, UK').missing).toContain('Lives elsewhere; the job is in Leeds.');
  });

  test('A-12 skills in sentences about the employer are not missing', () => {
    const description = `We are a leading Salesforce consultancy with 300 employees. Our clients run on Oracle.
      We offer German lessons and first aid training. You build services in Kotlin.`;
    const { missing } = explained(talent({ ...developer, ...skills('Go') }), job({ description }));
    expect(missing.join('\n')).toContain('Kotlin');
    for (const name of ['Salesforce', 'Oracle', 'German', 'first aid'])
      expect(missing.join('\n')).not.toContain(name);
  });

  test('A-12 the directions differ: a step up asks more of a talent, a step down is less attractive', () => {
    const senior = talent({ work: [{ position: 'Senior Backend Developer' }] });
    const junior = talent({ work: [{ position: 'Junior Backend Developer' }] });
    const [up, down] = [
      job({ title: 'Senior Backend Developer' }),
      job({ title: 'Junior Backend Developer' }),
    ];
    const stepUp = scorePair(junior, up, DEFAULT_WEIGHTS);
    expect(stepUp.jobToTalent).toBeLessThan(stepUp.talentToJob);
    const stepDown = scorePair(senior, down, DEFAULT_WEIGHTS);
    expect(stepDown.jobToTalent).toBeGreaterThan(stepDown.talentToJob);
  });

  test('A-12 vectors of one model count, those of two do not', () => {
    const facts = readTalent({ profile: developer, document: null, ...NO_TEXT }, vocabulary);
    const vector = (model: string, ...numbers: number[]) => storedVector(model, numbers);
    const asked = readJob({ ...NOTHING_ASKED, description: 'billing' }, vocabulary);
    const closeness = (mine: ReturnType<typeof vector>, theirs: ReturnType<typeof vector>) =>
      scorePair(talentFeatures('t', 1, facts, mine), jobFeatures('j', 1, asked, theirs), DEFAULT_WEIGHTS)
        .parts[6];
    const same = closeness(vector('a', 1, 0), vector('a', 1, 0));
    const across = closeness(vector('a', 1, 0), vector('a', 0, 1));
    const other = closeness(vector('a', 1, 0), vector('b', 1, 0));
    const none = closeness(null, null);
    expect(same as number).toBeGreaterThan(across as number);
    expect(other).toBe(none as number);
  });

  test('A-12 of two texts the first counts twice as much as the second, however long their vectors are', () => {
    const [expected, whole] = [storedVector('a', [2, 1]), storedVector('a', [1, 0])];
    for (const head of [
      [0, 1],
      [0, 30],
    ]) {
      expect(meanVector('a', [[4, 0], head])).toEqual(expected);
    }
    for (const head of [[], [0, 0], [Number.NaN, 1], [0, 1, 0]]) {
      expect(meanVector('a', [[4, 0], head])).toEqual(whole);
    }
    expect([meanVector('a', [[4, 0]]), meanVector('a', [])]).toEqual([whole, null]);
  });

  test('A-12 titles and skills go to the encoder with the rest and by themselves', () => {
    const textsOf = (profile: Record<string, unknown>, text: string | null = null) => {
      const stored = { profile, document: null, evidence: [], text };
      return talentTexts(readTalent(stored, vocabulary), stored);
    };
    const cook = { work: [{ position: 'Cook' }], ...skills('Python') };
    expect(textsOf(cook, 'Ada L.\nbaked bread for a hotel of many rooms')).toEqual([
      'Cook. python. baked bread for a hotel of many rooms',
      'Cook. python',
    ]);
    expect(textsOf(cook)).toEqual(['Cook. python']);
    expect(textsOf({})).toEqual([]);
    const posting = { ...NOTHING_ASKED, title: 'Cook', description: 'Bread for a hotel' };
    expect(jobTexts(readJob(posting, vocabulary), posting)).toEqual(['Cook. Bread for a hotel', 'Cook']);
  });

  test('A-12 weights are shared out over the parts that apply', () => {
    const { skills: ofSkills, education } = DEFAULT_WEIGHTS;
    const shares = (skillSureness: number) =>
      appliedWeights([0.5, null, null, 1, null, null, null], DEFAULT_WEIGHTS, { skillSureness });
    expect(shares(1)).toEqual([
      ofSkills / (ofSkills + education),
      ...[0, 0],
      education / (ofSkills + education),
      ...[0, 0, 0],
    ]);
    // One skill that is named by the way does not decide.
    expect(shares(0.1)[0] as number).toBeLessThan(shares(0.1)[3] as number);
    const nothing = scorePair(talent({}), job({ title: '' }), DEFAULT_WEIGHTS);
    expect(nothing).toMatchObject({ score: 0, jobToTalent: 0, talentToJob: 0 });
  });

  test('A-12 property: whatever a profile or a posting holds, scores are numbers from 0 to 100', () => {
    const random = createSeededRandom(5);
    const junk = (depth = 0): unknown => {
      const kind = random.below(depth > 3 ? 3 : 5);
      if (kind === 0) return null;
      if (kind === 1) return random.below(10) - 5;
      if (kind === 2) return random.text(random.below(40), 'ab1 ,./()+-€\n');
      if (kind === 3) return [junk(depth + 1), junk(depth + 1)];
      const [name, position, language, endDate] = Array.from({ length: 4 }, () => junk(depth + 1));
      return { name, position, language, startDate: '2020', endDate };
    };
    for (let round = 0; round < 300; round += 1) {
      const profile = Object.fromEntries(
        ['work', 'skills', 'education', 'languages', 'certificates', 'basics', 'total_months_experience'].map(
          (key) => [key, junk()],
        ),
      );
      const asked = job({
        mustHave: [String(junk()), String(junk())],
        posting: junk(),
        location: String(junk()),
      });
      const { scored, parts } = explained(talent(profile, junk()), asked);
      for (const number of [
        scored.score,
        scored.jobToTalent,
        scored.talentToJob,
        ...parts.map(({ score }) => score),
      ]) {
        expect(number).toBeGreaterThanOrEqual(0);
        expect(number).toBeLessThanOrEqual(100);
      }
    }
  });
});

describe('A-12 titles', () => {
  test('A-12 words for the same work are the same', () => {
    for (const [one, other] of [
      ['Legal Counsel', 'Attorney at Law'],
      ['Head Chef', 'Cook'],
      ['Technical Support Engineer', 'IT Help Desk Engineer'],
    ] as const) {
      expect([one, other, close(one, other)]).toEqual([one, other, 1]);
    }
  });

  test('A-12 function words of other languages tell nothing, words of English that are spelt like them do', () => {
    expect(close('Administrator de facilități', 'Administrator de vânzări')).toBeLessThan(0.4);
    expect(close('Leiter für Einkauf', 'Leiter Einkauf')).toBe(1);
    expect(close('Van Driver', 'Truck Driver')).toBeLessThan(close('Van Driver', 'Driver, Van'));
  });

  test('A-12 endings for the other sex, accents and slashes do not part the same title', () => {
    for (const [one, other] of [
      ['Verkäufer/in', 'Verkäuferin'],
      ['Director(a) de vanzari', 'Director de vânzări'],
      ['Buyer/Planner', 'Planner / Buyer'],
    ] as const) {
      expect([one, other, close(one, other)]).toEqual([one, other, 1]);
    }
  });

  test('A-12 a field in the title of a job counts by half where the CV shows it beside a title for such work', () => {
    const asked = job({ title: 'Python Developer' });
    const near = (position: string, summary: string) =>
      nearTitles(talent({ work: [{ position, summary }] }), asked)[0] ?? 0;
    expect(near('Software Engineer', 'Services in Python')).toBeGreaterThan(
      near('Software Engineer', 'Services in Haskell'),
    );
    expect(near('Software Engineer', 'Services in Python')).toBeLessThan(near('Python Engineer', ''));
    expect(near('Cook', 'Recipes in Python')).toBe(0);
    const listed = talent({ work: [{ position: 'Software Engineer' }], skills: [{ name: 'Python' }] });
    const unshown = { ...listed, named: new Set(['python']), shownSet: new Set<string>() };
    expect(nearTitles(unshown, asked)[0]).toBe(near('Software Engineer', ''));
  });

  test('the region of a position is not its field', () => {
    const sought = 'Regional Facilities Manager';
    expect(close('Facilities Manager', sought)).toBeGreaterThan(0.8);
    expect(close('Regional Sales Manager', sought)).toBeLessThan(0.5);
    expect(close('Administrator regional de vânzări', 'Administrator de facilități regionale')).toBeLessThan(
      0.5,
    );
  });

  test('A-12 a rank is one before and behind the occupation; a principal of a school has a profession', () => {
    expect(shapeOfTitle('Ingeniero principal')).toEqual(shapeOfTitle('Principal Engineer'));
    expect(close('Inginer superior', 'Engineer')).toBe(1);
    expect(shapeOfTitle('Vicepreședinte de vânzări')).toEqual(shapeOfTitle('VP of Sales'));
    expect(shapeOfTitle('Principal Engineer')).toEqual({ words: ['engineer'], rank: 5 });
    expect(close('Assistant Principal', 'School Principal')).toBeGreaterThan(0.6);
  });

  test('A-12 what is at the top of a CV counts beside the present title', () => {
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
    expect(new Set(['engineer', 'engineers', 'engineering'].map(stem)).size).toBe(1);
    expect([stem('process'), stem('sales'), stem('c++')]).toEqual(['process', 'sale', 'c++']);
  });

  test('A-12 a rare word in common is worth more than a common one', () => {
    const asked = job({
      title: 'Engineer',
      description: 'Develop products for our customers. Commission turbines and switchgear.',
    });
    const closeness = (summary: string) =>
      scorePair(talent({ work: [{ position: 'Engineer', summary }] }), asked, DEFAULT_WEIGHTS).parts[6] ?? 0;
    const rare = closeness('Commissioning of turbines, switchgear');
    expect(rare).toBeGreaterThan(closeness('Developing products, customers'));
  });

  test('A-12 what a posting asks for is found in its sentences too', () => {
    const { facts } = job({
      title: 'Web Developer',
      description:
        'We build shops. You know PHP and MySQL well and have worked with WordPress for 3 years; a little Docker is welcome.',
    });
    const skills = facts.nice.flatMap((one) => (one.kind === 'skills' ? one.skills : []));
    expect(skills).toEqual(expect.arrayContaining(['php', 'mysql', 'wordpress', 'docker']));
    expect(facts.minMonths).toBe(36);
  });
});
