import { describe, expect, test } from 'bun:test';
import { layOut } from './layout.ts';

function sectionOf(text: string, line: string): string | undefined {
  const { segments, sections } = layOut(text);
  return sections[segments.findIndex((segment) => segment.text.startsWith(line))];
}

describe('G-7 a line lies in the section that it belongs to', () => {
  test('a heading that no list has is known by its last word', () => {
    const lines = (heading: string) =>
      `Ada Byron\n\nEDUCATION\nUniversity of Leeds\n\n${heading}\nOak Lane House`;
    for (const heading of [
      'STUDENT TEACHING EXPERIENCE',
      'Relevant Legal Experience',
      'Clinical Placements:',
    ])
      expect(sectionOf(lines(heading), 'Oak Lane')).toBe('work');
    expect(sectionOf(lines('ENGINEERING COMPETENCIES'), 'Oak Lane')).toBe('skills');
    expect(sectionOf(lines('COMMUNITY INVOLVEMENT'), 'Oak Lane')).toBe('other');
  });

  test('a heading that is written small stands alone below an empty line', () => {
    const text =
      'Ada Byron\n\nexperience\n\nTester, Oak Lane House\n2012 - 2014\nexperience\n\neducation:\n\nHigh Cross School';
    expect(sectionOf(text, 'Tester')).toBe('work');
    expect(sectionOf(text, 'High Cross')).toBe('education');
    const prose = 'Ada Byron\n\nEDUCATION\nLeeds University\nexperience\nwith machines';
    expect(sectionOf(prose, 'with machines')).toBe('education');
  });

  test('headings of other languages, in capitals and in small letters', () => {
    const lines = (heading: string) => `Ada Byron\n\n${heading}\nOak Lane House`;
    const cases: readonly (readonly [string, string])[] = [
      ['DOŚWIADCZENIE ZAWODOWE', 'work'],
      ['Pracovní zkušenosti', 'work'],
      ['EXPERIENŢĂ PROFESIONALĂ', 'work'],
      ['İŞ DENEYİMİ', 'work'],
      ['EĞİTİM BİLGİLERİ', 'education'],
      ['Készségek', 'skills'],
      ['Jazykové znalosti', 'languages'],
      ['SERTİFİKALAR', 'certificates'],
      ['Referanslar', 'other'],
    ];
    for (const [heading, kind] of cases)
      expect([heading, sectionOf(lines(heading), 'Oak Lane')]).toEqual([heading, kind]);
  });

  test('lines that list skills or make claims are not headings', () => {
    const text = 'SKILLS\nCustomer Experience\nAgile\n5 years of experience\nSQL';
    for (const line of ['Customer', 'Agile', '5 years', 'SQL']) expect(sectionOf(text, line)).toBe('skills');
  });

  test('under an unknown heading, a line with a position and a period starts the work section', () => {
    const text = [
      'EDUCATION',
      'University of Leeds, 2004 - 2008',
      'Where I have been since',
      'Blue Harbour Software',
      'Senior Developer, March 2012 - June 2019',
      'Built the booking service.',
    ].join('\n');
    expect(sectionOf(text, 'University')).toBe('education');
    expect(sectionOf(text, 'Blue Harbour')).toBe('work');
    expect(sectionOf(text, 'Built the')).toBe('work');
  });

  test('a position at a school among studies stays there, and projects stay projects', () => {
    const study = 'EDUCATION\nTeaching Assistant, University of Leeds, 2004 - 2008';
    expect(sectionOf(study, 'Teaching')).toBe('education');
    expect(sectionOf('PROJECTS\nDeveloper, March 2012 - June 2013', 'Developer')).toBe('projects');
  });

  test('details of contact end after a few lines', () => {
    const lines = Array.from({ length: 12 }, (_, at) => `line ${at} of what was done there`);
    const text = ['WORK EXPERIENCE', 'Blue Harbour', 'Contact', ...lines].join('\n');
    expect(sectionOf(text, 'line 1 ')).toBe('contact');
    expect(sectionOf(text, 'line 11')).toBe('work');
  });

  test('a word that continues the line above it, or is continued below, is no heading', () => {
    for (const lines of [
      'EXPERIENCE\nDirector, Information\nTechnology\nOak Lane House\n2012 - 2014',
      'EXPERIENCE\nBoard of\nEducation\nOak Lane House',
      'EXPERIENCE\nRan the programme\nTraining\nfor all staff\nOak Lane House',
    ])
      expect(sectionOf(lines, 'Oak Lane')).toBe('work');
    expect(sectionOf('EXPERIENCE\nTester\n\nTechnology\nOak Lane House', 'Oak Lane')).toBe('skills');
    expect(sectionOf('EXPERIENCE\nTester\nTECHNOLOGY\nOak Lane House', 'Oak Lane')).toBe('skills');
  });

  test('headings without their accents, and by the noun that they begin with', () => {
    const lines = (heading: string) => `Ada Byron\n\n${heading}\nOak Lane House`;
    const cases: readonly (readonly [string, string])[] = [
      ['PRACOVNI ZKUSENOSTI', 'work'],
      ['Formacion academica', 'education'],
      ['Aptitudini si competente personale', 'skills'],
      ['Experiență managerială', 'work'],
      ['Compétences relationnelles', 'skills'],
      ['Activități de voluntariat', 'other'],
    ];
    for (const [heading, kind] of cases)
      expect([heading, sectionOf(lines(heading), 'Oak Lane')]).toEqual([heading, kind]);
    expect(sectionOf(lines('Experiencia en gestión de equipos'), 'Oak Lane')).toBe('top');
    expect(sectionOf(lines('Competențe: Excel, Word'), 'Competențe')).toBe('skills');
  });
});
