import words from './near-skills.json' with { type: 'json' };

/** What a skill is worth in another one's place: who knows React knows JavaScript, who knows MySQL is near PostgreSQL. */
const IMPLIED = 0.9;
const ALIKE = 0.5;

const near = nearTable();

/** Skills that stand in for this one in part, the better ones first. Itself is not among them. */
export function nearTo(skill: string): readonly NearSkill[] {
  return near.get(skill) ?? [];
}

export interface NearSkill {
  readonly name: string;
  readonly credit: number;
}

/** Ways of working that nobody can be turned down for: a CV that does not claim them says nothing. */
const SOFT = new Set(
  `communication|written communication|verbal communication|interpersonal skills|teamwork|problem solving|critical thinking|
  analytical skills|creativity|innovation|adaptability|time management|organizational skills|multitasking|attention to detail|
  self-motivation|work ethic|reliability|initiative|independence|fast learner|results orientation|customer focus|listening|
  empathy|patience|emotional intelligence|working under pressure|motivating others|cultural awareness|integrity|enthusiasm|
  positive attitude|resilience|assertiveness|planning|strategic thinking|persuasion|networking skills|
  cross-functional collaboration|resourcefulness|discretion|sincerity|leadership|decision making|reporting|research|internet|
  computer literacy|maintenance|monitoring|administration|editing|driving|assembly|packaging|cleaning|debate`
    .split('|')
    .map((name) => name.trim()),
);

export function isSoft(skill: string): boolean {
  return SOFT.has(skill);
}

function nearTable(): ReadonlyMap<string, readonly NearSkill[]> {
  const credits = new Map<string, Map<string, number>>();
  const note = (wanted: string, has: string, credit: number) => {
    if (wanted === has) return;
    const row = credits.get(wanted) ?? new Map<string, number>();
    row.set(has, Math.max(credit, row.get(has) ?? 0));
    credits.set(wanted, row);
  };
  for (const [has, implied] of Object.entries(words.implies)) {
    for (const wanted of listed(implied)) note(wanted, has, IMPLIED);
  }
  for (const group of words.alike) {
    const members = listed(group);
    for (const wanted of members) for (const has of members) note(wanted, has, ALIKE);
  }
  const sorted = ([name, row]: [string, Map<string, number>]) =>
    [
      name,
      [...row].map(([has, credit]) => ({ name: has, credit })).sort((a, b) => b.credit - a.credit),
    ] as const;
  return new Map([...credits].map(sorted));
}

function listed(text: string): readonly string[] {
  return text.split(',').map((name) => name.trim());
}
