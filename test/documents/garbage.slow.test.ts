import { describe, expect, test } from 'bun:test';
import { parsedCvSchema, parsedPostingSchema } from '../../src/domain/documents/parsed-document.ts';
import { createSeededRandom } from '../doubles/seeded-random.ts';
import { cvText, engine, TODAY } from './recorded-documents.ts';

const PIECES = [
  'Experience',
  '\n',
  '\n\n',
  '\t',
  '•',
  ' - ',
  '2010',
  '01/2015',
  '@',
  'jane@example.com',
  '+1 555 123 4567',
  'University of',
  'Berlin',
  'C++',
  '"',
  '\u0000',
  '\ud800',
  'ß',
  '漢字',
  '🙂',
  '(((((',
  '.....',
  '99999999999',
  'salary $',
  'must have',
  'İstanbul',
];

describe('G-7 G-8 whatever the text, an answer of the promised form', () => {
  test('pieces of documents in a random order', () => {
    for (let seed = 1; seed <= 120; seed++) {
      const random = createSeededRandom(seed);
      const text = Array.from({ length: random.below(300) }, () => random.pick(PIECES)).join(
        random.pick(['', ' ', '\n']),
      );
      checkBoth(text, seed);
    }
  });

  function checkBoth(text: string, seed: number): void {
    const cv = engine.parseCv(text, TODAY);
    const posting = engine.parsePosting(text);
    expect(parsedCvSchema.safeParse(cv).error, `seed ${seed}`).toBeUndefined();
    expect(parsedPostingSchema.safeParse(posting).error, `seed ${seed}`).toBeUndefined();
    for (const { start, end } of [...cv.evidence, ...posting.evidence]) {
      expect(start >= 0 && start < end && end <= text.length, `seed ${seed}`).toBe(true);
    }
    expect(engine.parseCv(text, TODAY)).toEqual(cv);
  }
});

describe('G-7 the time grows with the text and not faster', () => {
  const LENGTH = 120_000;
  const filled = (piece: string) => piece.repeat(Math.ceil(LENGTH / piece.length)).slice(0, LENGTH);
  const texts: Readonly<Record<string, string>> = {
    'a CV over and over': filled(cvText('one-column')),
    'one word without end': filled('a'),
    'digits and dashes': filled('12-'),
    'at signs': filled('a@'),
    blanks: filled('x '),
    'empty lines': filled('\n'),
    'words for pay': filled('salary '),
    dots: filled('a.'),
    dates: filled('2010 - 2012 '),
    money: filled('$1,000 '),
    'rows of addresses': filled('jane@example.com, '),
    'rows of places': filled('Berlin, Germany; '),
    'rows of titles': filled('Engineer at Acme Ltd, '),
  };
  for (const [name, text] of Object.entries(texts)) {
    test(name, () => {
      const before = process.cpuUsage();
      engine.parseCv(
        `Jane Miller\njane@example.com\nExperience\n2010 - 2012\nEducation\nSkills\n${text}`,
        TODAY,
      );
      engine.parsePosting(`We are looking for an engineer. Apply now. Requirements:\n${text}`);
      const { user, system } = process.cpuUsage(before);
      // Half a second of work; what grows with the square of the length would take ten. Processor time, because a
      // busy machine says nothing about the engine.
      expect((user + system) / 1000).toBeLessThan(5_000);
    });
  }
});
