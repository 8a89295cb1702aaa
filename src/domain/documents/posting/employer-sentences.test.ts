import { describe, expect, test } from 'bun:test';
import { isAboutEmployer } from './employer-sentences.ts';

describe('A-12 a sentence of a posting', () => {
  test.each([
    'We are a leading Salesforce consultancy with 300 employees in Leeds.',
    'Acme Systems is a fast-growing fintech that builds payment software in Go and React.',
    'Our clients include banks and insurers that run on Oracle.',
    'We offer German lessons, a company car and first aid training.',
    'Wir sind ein führendes SAP-Beratungshaus mit 200 Mitarbeitern.',
    'Die Brandt Elektro GmbH ist ein Familienbetrieb für Elektrotechnik.',
    'Wir bieten Deutschkurse und ein Jobrad.',
    'Oferujemy kursy angielskiego i szkolenia z SQL.',
  ])('A-12 about the employer alone: %s', (sentence) => {
    expect(isAboutEmployer(sentence)).toBe(true);
  });

  test.each([
    'We are looking for a Java developer.',
    'We are a small agency in search of a React developer.',
    'We use Python, Django and PostgreSQL.',
    'You have three years of experience with SAP.',
    'German is our company language.',
    'Python is a must in our company.',
    'Knowledge of Salesforce, the leading CRM of our group',
    'We offer a role for an experienced Go developer.',
    'Wir suchen einen Elektriker mit Führerschein Klasse B.',
    'Du bringst Erfahrung mit SAP in einem Unternehmen mit.',
    'The Cloud Architect is an expert who applies Azure in this business.',
    'We offer unique opportunities for engineers with expertise in virtualisation.',
  ])('A-12 asks for something, or may: %s', (sentence) => {
    expect(isAboutEmployer(sentence)).toBe(false);
  });
});
