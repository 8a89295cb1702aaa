import { describe, expect, test } from 'bun:test';
import { cpuMsOf } from '../../../../test/doubles/cpu-time.ts';
import { countedWords } from './words.ts';
import { workWords } from './work-text.ts';

function words(text: string, evidence: unknown = []): readonly string[] {
  return workWords(text, evidence).flatMap((line) => line.map(({ word }) => word));
}

describe('A-12 the words of work in a CV', () => {
  test('A-12 a word that is always written with a capital counts only if it is one of work', () => {
    const said = words(
      'Ada L.\nManaged warehouses for Ravenscroft in Trondheim. Forklift and hydrocyclone repair.',
    );
    expect(said).toEqual(expect.arrayContaining(['managed', 'warehouses', 'forklift', 'hydrocyclone']));
    expect(said).not.toContain('ravenscroft');
    expect(said).not.toContain('trondheim');
  });

  test('A-12 what the reader found to be name, employer, school or contact is cut out, and the name wherever it occurs', () => {
    const text =
      'Curriculum vitae of one nurse\nRose Miller\nnurse at Carpenter Clinic\nRose Miller leads a ward';
    const at = (value: string, path: string) => ({
      ...{ path, start: text.indexOf(value), end: text.indexOf(value) + value.length, confidence: 1 },
    });
    const said = words(text, [at('Rose Miller', 'basics.name'), at('Carpenter Clinic', 'work[0].name')]);
    expect(said).toEqual(['nurse', 'at', 'leads', 'a', 'ward']);
  });

  test('A-12 labelled lines, the value below a label, addresses and photos are left out, in several languages', () => {
    const lines = [
      ...[
        'Lebenslauf',
        'Geburtsdatum: 1.2.1980',
        'Familienstand:',
        'verheiratet',
        'Hauptstraße 5, 10115 Berlin',
      ],
      ...[
        'Situation familiale : mariée',
        'Estado civil: soltero',
        'Foto: bewerbung.jpg',
        'welder since 2010',
      ],
    ];
    expect(words(lines.join('\n'))).toEqual(['welder', 'since']);
  });

  test('A-12 scripts without capitals count as they are written', () => {
    expect(words('姓名\n软件工程师 负责 数据库')).toEqual(['软件工程师', '负责', '数据库']);
  });

  test('A-12 evidence that points nowhere is no evidence', () => {
    for (const evidence of [null, 'x', [null, { path: 'basics.name', start: 5, end: 900 }, { path: 7 }]]) {
      expect(words('first line of many words in it\nwelding', evidence)).toContain('welding');
    }
  });

  test('A-12 of too many words those that tell most about the work stay, with their counts', () => {
    const { terms, counts } = countedWords(['turbine turbine and a plan for the team, switchgear'], 2);
    expect(terms).toEqual(['turbin', 'switchge']);
    expect(counts).toEqual([2, 1]);
  });

  test('A-12 a word of no list never tells as much as a rare word of work', () => {
    expect(countedWords(['îmbunătățirea turbine'], 1).terms).toEqual(['turbin']);
  });

  test('A-12 addresses of mail, pages and files are left out; a run of 40,000 characters is read at once', async () => {
    const text = 'Skills\nforklift jane@example.com photo.jpg, www.jane.example/cv jane-d.io/cv repair';
    expect(words(text)).toEqual(expect.arrayContaining(['forklift', 'repair']));
    expect(words(text).join(' ')).not.toMatch(/jane|photo|cv/);
    const cpuMs = await cpuMsOf(() => {
      for (const one of ['–', 'a', 'a-', 'a@', 'Ab3/']) words(one.repeat(40_000 / one.length));
    });
    expect(cpuMs).toBeLessThan(5_000);
  });
});
