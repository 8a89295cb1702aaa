import { describe, expect, test } from 'bun:test';
import { readMarked as read } from './marked-cvs.ts';

const TOP = 'Marlon Okafor marlon.okafor@example.com Leeds ';
const TASKS =
  'keeps the databases of many clients in good order and writes reports about them for the teams that plan the work of the next months ';

describe('a CV that has lost its line ends', () => {
  test('G-7 a job that ends a long line belongs to the span of time behind two blanks', async () => {
    const profile = await read(
      `${TOP} Work Experience  [title:Database Administrator] [company:Northwind Ltd]  Leeds October 2019 to Present  ${TASKS}` +
        `[title:Web Developer] [company:Calder Solutions Ltd]  Leeds August 2018 to August 2019  ${TASKS} Education  2012 to 2015`,
    );
    expect(profile?.work).toMatchObject([
      { position: 'Database Administrator', name: 'Northwind Ltd', startDate: '2019-10', endDate: null },
      { position: 'Web Developer', name: 'Calder Solutions Ltd', startDate: '2018-08', endDate: '2019-08' },
    ]);
  });

  test('G-7 a position and an employer beside each other are a job, in the middle of a sentence too', async () => {
    const profile = await read(
      `${TOP} Work Experience  ${TASKS} worked as a [title:Senior Tester] at [company:Blue Harbour Ltd] and then ${TASKS}`,
    );
    expect(profile?.work).toMatchObject([{ position: 'Senior Tester', name: 'Blue Harbour Ltd' }]);
  });

  test('G-7 a position alone in a sentence is no job', async () => {
    const profile = await read(
      `${TOP} Work Experience  [title:Tester] [company:Blue Harbour Ltd] May 2018 to June 2019  ${TASKS} and sent them to the [title:Project Manager] who ${TASKS}`,
    );
    expect(profile?.work).toMatchObject([{ position: 'Tester', name: 'Blue Harbour Ltd' }]);
  });

  test('G-7 a degree that runs into its school is a degree and a school', async () => {
    const profile = await read(
      `${TOP} Work Experience  [title:Tester] [company:Blue Harbour Ltd] May 2018 to June 2019  ${TASKS} Education  [school:MBA Airedale University] 2012 to 2015`,
    );
    expect(profile?.education).toMatchObject([{ studyType: 'MBA', institution: 'Airedale University' }]);
  });

  test("G-7 a school whose name begins with a degree's letters stays whole", async () => {
    const profile = await read(
      `${TOP} Work Experience  [title:Tester] [company:Blue Harbour Ltd] May 2018 to June 2019  ${TASKS} Education  [school:MS University] 2012 to 2015`,
    );
    expect(profile?.education).toMatchObject([{ institution: 'MS University' }]);
  });
});

/** The first job of a CV with lines. */
async function job(line: string) {
  const profile = await read(
    `Marlon Okafor\nmarlon.okafor@example.com\n\nWORK EXPERIENCE\n\n${line}\nMay 2018 to June 2019\n\n- ${TASKS}\n\nEDUCATION\n\n2012 to 2015\n`,
  );
  return { position: profile?.work[0]?.position, name: profile?.work[0]?.name };
}

describe('where a name begins and ends', () => {
  test('G-7 a title ends where an employer begins, and goes on over a region', async () => {
    const one = await job('[title:Test Engineer] - [company:Calder Limited]');
    expect(one).toEqual({ position: 'Test Engineer', name: 'Calder Limited' });
    const other = await job('[title:Lead Developer] - [place:Yorkshire]');
    expect(other.position).toBe('Lead Developer - Yorkshire');
  });

  test('G-7 two positions of one line are one', async () => {
    const { position } = await job('[title:Web Designer], [title:Product Owner]\n[company:Calder Limited]');
    expect(position).toBe('Web Designer, Product Owner');
  });

  test('G-7 the letters of the name and who bought it are part of it, other remarks are not', async () => {
    const name = async (company: string) => (await job(`[title:Tester]\n${company}`)).name;
    expect(await name('[company:Northern Exchange Program] (NEP)')).toBe('Northern Exchange Program (NEP)');
    expect(await name('[company:Droit] (acquired by FIS)')).toBe('Droit (acquired by FIS)');
    expect(await name('[company:Northern Exchange] (USA)')).toBe('Northern Exchange');
    expect(await name('[company:Northern Exchange] (part-time)')).toBe('Northern Exchange');
  });

  test('G-7 a legal form of two letters is written large', async () => {
    expect((await job('[title:Tester]\n[company:Calder Holding] AS')).name).toBe('Calder Holding AS');
    expect((await job('[company:Calder Holding] as [title:Senior Tester]')).name).toBe('Calder Holding');
  });

  test('G-7 what stands behind the "in" of a degree is its field and no school, unless it names one', async () => {
    const profile = await read(
      `${TOP} Education  [degree:BTech] in [school:Information Technology] [school:Calder Institute of Technology]  2012 to 2016  ` +
        '[degree:Master] in [school:Leeds University]  2016 to 2018',
    );
    expect(profile?.education).toMatchObject([
      { studyType: 'BTech', area: 'Information Technology', institution: 'Calder Institute of Technology' },
      { studyType: 'Master', area: null, institution: 'Leeds University' },
    ]);
  });
});

describe('where the name of a school ends', () => {
  const school = async (line: string) => {
    const profile = await read(
      `Marlon Okafor\nmarlon.okafor@example.com\n\nWORK EXPERIENCE\n\nTester, Blue Harbour Ltd\nMay 2018 to June 2019\n\n- ${TASKS}\n\nEDUCATION\n\n${line}\n2012 to 2015\n`,
    );
    return profile?.education[0]?.institution;
  };

  test.each([
    ['[school:The Art Institute] of Orange County', 'The Art Institute of Orange County'],
    ['[school:Gymnasium] Wertingen', 'Gymnasium Wertingen'],
    ['[school:Airedale University] of the north', 'Airedale University'],
  ])('G-7 %s', async (line, name) => {
    expect(await school(line)).toBe(name);
  });
});

describe('a degree and its field on lines of their own', () => {
  const studies = async (...lines: readonly string[]) => {
    const profile = await read(
      `Marlon Okafor\nmarlon.okafor@example.com\n\nWORK EXPERIENCE\n\nTester, Blue Harbour Ltd\nMay 2018 to June 2019\n\n- ${TASKS}\n\nEDUCATION\n\n${lines.join('\n')}\n`,
    );
    return profile?.education;
  };
  const SCHOOLS = ['[school:Airedale University]', '[school:Calder College]'];

  test.each([
    [
      'the degree first',
      ['[degree:Master of Science]', '[degree:Astrophysics]'],
      ['[degree:Bachelor]', '[degree:Physics]'],
    ],
    [
      'the field first',
      ['[degree:Astrophysics]', '[degree:Master of Science]'],
      ['[degree:Physics]', '[degree:Bachelor]'],
    ],
  ])('G-7 are one degree: %s', async (_, first, second) => {
    expect(await studies(SCHOOLS[0] ?? '', ...first, '', SCHOOLS[1] ?? '', ...second)).toMatchObject([
      { institution: 'Airedale University', studyType: 'Master of Science', area: 'Astrophysics' },
      { institution: 'Calder College', studyType: 'Bachelor', area: 'Physics' },
    ]);
  });

  test('G-7 two degrees below each other stay two', async () => {
    expect(await studies(SCHOOLS[0] ?? '', '[degree:Bachelor]', '[degree:Master of Science]')).toMatchObject([
      { studyType: 'Bachelor', area: null },
      { studyType: 'Master of Science', area: null },
    ]);
  });
});
