import { createCheckedValues } from './checked-values.ts';
import type { Evidence } from './document-facts.ts';
import type { Posting } from './parsed-posting.ts';
import { findEmploymentType, findExperience, findRemote } from './posting/employment.ts';
import { findSalary } from './posting/salary.ts';
import type { Found } from './text/found.ts';
import { canonicalSkill } from './words/skill-names.ts';

export interface CheckedPosting {
  readonly posting: Posting;
  readonly evidence: readonly Evidence[];
  readonly warnings: readonly string[];
}

const CONFIDENCE = 0.9;

/**
 * A posting that somebody else read, against its text. Words must stand in the text; figures and kinds (pay, months,
 * employment, remote) are taken from the text's own wording, so that a wrong figure cannot come in by a model.
 */
export function checkPosting(text: string, claimed: Posting): CheckedPosting {
  const values = createCheckedValues(text, CONFIDENCE);
  const extra: Evidence[] = [];
  const found = <Value>(path: string, isClaimed: boolean, one: Found<Value> | null): Value | null => {
    if (!isClaimed || one === null) return null;
    extra.push({ path, start: one.start, end: one.end, confidence: CONFIDENCE });
    return one.value;
  };
  const name = values.text('hiringOrganization.name', claimed.hiringOrganization?.name ?? null);
  const months = found(
    'experienceRequirements.monthsOfExperience',
    claimed.experienceRequirements !== null,
    findExperience(text),
  );
  const places: Posting['jobLocation'] = [];
  for (const { city, region, country } of claimed.jobLocation) {
    const path = `jobLocation[${places.length}]`;
    const place = {
      city: values.text(`${path}.city`, city),
      region: values.text(`${path}.region`, region),
      country: values.text(`${path}.country`, country),
    };
    if (Object.values(place).some((part) => part !== null)) places.push(place);
  }
  const skills = values.list(
    'skills',
    claimed.skills.map((skill) => skill.name),
  );
  const description = text.slice(0, 20_000).trim();
  const posting: Posting = {
    title: values.text('title', claimed.title),
    description: description === '' ? null : description,
    hiringOrganization: name === null ? null : { name },
    jobLocation: places,
    jobLocationType: found('jobLocationType', claimed.jobLocationType !== null, findRemote(text)),
    employmentType: found('employmentType', claimed.employmentType !== null, findEmploymentType(text)),
    baseSalary: found('baseSalary', claimed.baseSalary !== null, findSalary(text)),
    must_have: values.list('must_have', claimed.must_have),
    nice_to_have: values.list('nice_to_have', claimed.nice_to_have),
    skills: skills.map((skill) => ({ name: skill, canonical: canonicalSkill(skill) })),
    responsibilities: values.list('responsibilities', claimed.responsibilities),
    experienceRequirements: months === null ? null : { monthsOfExperience: months },
    educationRequirements: values.list('educationRequirements', claimed.educationRequirements),
    jobBenefits: values.list('jobBenefits', claimed.jobBenefits),
    datePosted: values.date('datePosted', claimed.datePosted),
    validThrough: values.date('validThrough', claimed.validThrough),
  };
  const evidence = values.evidence.map((one) =>
    /^skills\[\d+\]$/.test(one.path) ? { ...one, path: `${one.path}.name` } : one,
  );
  return {
    posting,
    evidence: [...evidence, ...extra],
    warnings: values.dropped.map((path) => `${path} was dropped: the document does not say it`),
  };
}
