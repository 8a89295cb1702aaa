import { expect, test } from 'bun:test';
import { findEmploymentType, findExperience, findSeniority, findWorkMode } from './employment-terms.ts';

test.each([
  ['Permanent, part time', 'PART_TIME'],
  ['22.2 hours per week, permanent', 'PART_TIME'],
  ['Verpleegkundige (24-32 uur), vast contract', 'PART_TIME'],
  ['Permanent, full-time', 'FULL_TIME'],
  ['CDI à Lyon', 'FULL_TIME'],
  ['Contract · Posted 3 days ago', 'CONTRACTOR'],
  ['Day rate: £700', 'CONTRACTOR'],
  ['pełny etat', 'FULL_TIME'],
] as const)('G-8 the kind of employment: %j is %s', (text, type) => {
  expect(findEmploymentType(text)?.value).toBe(type);
});

test.each([
  ['You can work from home two days a week', 'HYBRID'],
  ['Télétravail 2 jours par semaine', 'HYBRID'],
  ['in our office on Tuesdays and from home the rest of the week', 'HYBRID'],
  ['praca hybrydowa', 'HYBRID'],
  ['5 days in the office', 'ON_SITE'],
  ['office five days a week', 'ON_SITE'],
  ['Work Location: In person', 'ON_SITE'],
] as const)('G-8 where the work is done: %j is %s', (text, mode) => {
  expect(findWorkMode(text)?.value).toBe(mode);
});

test.each([
  ['3+ yrs writing production TypeScript', 36],
  ['Ten years or more in operations', 120],
  ['Exp: 4 to 7 yrs', 48],
  ['minimum 2 lata doświadczenia w logistyce', 24],
] as const)('G-8 months of experience: %j asks for %d', (text, months) => {
  expect(findExperience(text)?.value).toBe(months);
});

test('G-8 a staff engineer of any trade leads', () => {
  const title = 'Staff Machine Learning Engineer';
  expect(findSeniority(title, { start: 0, end: title.length })?.value).toBe('LEAD');
});
