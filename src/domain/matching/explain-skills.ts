import type { AskedItem, JobFeatures, TalentFeatures } from './features.ts';
import { askedCredit, MET } from './part-scores.ts';
import { shownSkill } from './skill-vocabulary.ts';

export interface ExplainedSkills {
  readonly found: readonly string[];
  readonly missing: readonly string[];
  readonly reasons: readonly string[];
}

const MOST_NAMED = 8;

/** Skill by skill: there, near (and what stands in for it), or missing; those that must be there first. */
export function explainSkills(talent: TalentFeatures, job: JobFeatures): ExplainedSkills {
  const exact: string[] = [];
  const near: string[] = [];
  const missing: string[] = [];
  const worded: string[] = [];
  for (const item of job.asked) {
    if (item.skills.length === 0) {
      if (askedCredit(item, talent) >= MET.skills) worded.push(item.text);
    } else {
      explainItem(item, talent, { exact, near, missing });
    }
  }
  const unique = (lines: readonly string[]) => [...new Set(lines)];
  const [has, similar, lacks] = [unique(exact), unique(near), unique(missing)];
  const reasons = [
    ...(has.length > 0 ? [`Has ${listed(has)}.`] : []),
    ...(similar.length > 0 ? [`Near what is asked for: ${listed(similar)}.`] : []),
  ];
  return { found: [...has, ...similar, ...unique(worded)], missing: lacks, reasons };
}

interface Lists {
  readonly exact: string[];
  readonly near: string[];
  readonly missing: string[];
}

function explainItem(item: AskedItem, talent: TalentFeatures, { exact, near, missing }: Lists): void {
  const lacking: string[] = [];
  for (const { name, near: others } of item.skills) {
    const instead = others.find((one) => talent.skills.has(one.name));
    if (talent.skills.has(name)) exact.push(shownSkill(name));
    else if (instead !== undefined) near.push(`${shownSkill(name)} (has ${shownSkill(instead.name)})`);
    else lacking.push(shownSkill(name));
  }
  // What a posting only mentions is no lack, and of alternatives one is enough.
  const isMentioned = item.text === item.skills[0]?.name && !item.isMust && item.weight < 0.5;
  if (isMentioned || (item.isAny && lacking.length < item.skills.length)) return;
  const ending = item.isMust && askedCredit(item, talent) < MET.skills ? ' (must have)' : '';
  if (item.isAny) missing.push(`${lacking.join(' or ')}${ending}`);
  else for (const name of lacking) missing.push(`${name}${ending}`);
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, MOST_NAMED).join(', ');
  return names.length > MOST_NAMED ? `${shown} and ${names.length - MOST_NAMED} more` : shown;
}
