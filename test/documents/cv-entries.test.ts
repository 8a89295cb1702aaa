import { describe, expect, test } from 'bun:test';
import { readMarked } from './marked-cvs.ts';

const TOP = 'Marlon Okafor\nmarlon.okafor@example.com\nLeeds\n\n';

describe('what belongs together in a CV', () => {
  test('G-7 a career break is no job, and its time is not that of the job below it', async () => {
    for (const line of [
      'Career break, full-time parent, 2021 - 2023',
      '2021 - 2023\tCareer break and travel',
      '[title:Congé parental]\n2021 - 2023',
    ]) {
      const profile = await readMarked(
        `${TOP}Work Experience\n\n${line}\n\n[title:Pastry Chef]\n[company:Hotel Larimer]\nFeb 2015 - Nov 2020\n\n` +
          '[title:Baker]\n[company:Blue Spruce Ltd]\nJune 2012 - January 2015\n\nEducation\nLeeds College, 2012',
      );
      expect(profile?.work).toMatchObject([
        { position: 'Pastry Chef', name: 'Hotel Larimer', startDate: '2015-02', endDate: '2020-11' },
        { position: 'Baker', name: 'Blue Spruce Ltd', startDate: '2012-06', endDate: '2015-01' },
      ]);
      expect(profile?.total_months_experience).toBe(102);
    }
  });

  test('G-7 projects and voluntary work are no jobs beside others, and never the current one', async () => {
    const job = '[title:Pastry Chef]\n[company:Hotel Larimer]\nFeb 2015 - Nov 2020\n\n';
    const other = '[title:Treasurer]\n[company:Blue Spruce Garden]\nJan 2021 - Present\n\n';
    for (const heading of ['Volunteering', 'Projects', 'Volontariato']) {
      const profile = await readMarked(`${TOP}Work Experience\n\n${job}${heading}\n\n${other}`);
      expect(profile?.work.map(({ position }) => position)).toEqual(['Pastry Chef']);
      expect(profile).toMatchObject({ total_months_experience: 70, current_title: null });
    }
    const freelancer = await readMarked(`${TOP}Projects\n\n${job}`);
    expect(freelancer).toMatchObject({
      work: [{ position: 'Pastry Chef' }],
      total_months_experience: 70,
    });
    const student = await readMarked(`${TOP}Volunteering\n\n${other}`);
    expect(student).toMatchObject({
      work: [{ position: 'Treasurer' }],
      total_months_experience: null,
      current_title: null,
    });
    const label = await readMarked(
      `${TOP}Work Experience\n\n${job}Project:\nA new menu\n\n[title:Baker]\n[company:Blue Spruce Ltd]\nJune 2012 - January 2015`,
    );
    expect(label?.total_months_experience).toBe(102);
  });

  test('G-7 a position that says that it is unpaid has no months', async () => {
    const months = async (line: string) => {
      const profile = await readMarked(
        `${TOP}Work Experience\n\n${line}\n[company:Blue Spruce Shop]\nJan 2021 - Present\n\n[title:Pastry Chef]\n[company:Hotel Larimer]\nFeb 2015 - Nov 2020`,
      );
      expect(profile?.work).toHaveLength(2);
      return [profile?.total_months_experience, profile?.current_title];
    };
    for (const line of [
      '[title:Volunteer Sorter]',
      '[title:Treasurer] (voluntary)',
      '[title:Voluntary Treasurer]',
    ])
      expect(await months(line)).toEqual([70, null]);
    expect(await months('[title:Volunteer Coordinator]')).toEqual([112, 'Volunteer Coordinator']);
  });

  test('G-7 the position that a person would like to have is no headline', async () => {
    const label = async (line: string) => {
      const jobs = 'Work Experience\n[title:Baker], [company:Crema Ltd], 2019 - 2021';
      return (await readMarked(`${TOP}Objective\n${line}\n\n${jobs}`))?.basics.label;
    };
    expect(await label('Seeking a position as a [title:Head Baker] with room to grow.')).toBeNull();
    expect(await label('[title:Head Baker] seeking a position with room to grow.')).toBe('Head Baker');
  });

  test('G-7 names that were cut are whole, and words and places alone are none', async () => {
    const names = async (line: string) => {
      const profile = await readMarked(`${TOP}Work Experience\n\n${line}\nFeb 2015 - Nov 2020\n`);
      return profile?.work.map(({ position, name }) => [position, name]);
    };
    expect(await names('IT [title:Administrator], [company:Hotel Larimer]')).toEqual([
      ['IT Administrator', 'Hotel Larimer'],
    ]);
    expect(await names('[title:Engineer], [company:Avi Electronics] [company:Network Pvt Ltd]')).toEqual([
      ['Engineer', 'Avi Electronics Network Pvt Ltd'],
    ]);
    expect(await names('[title:Engineer] | [company:Maharashtra]')).toEqual([['Engineer', null]]);
    const schools = async (line: string) => {
      const profile = await readMarked(
        `${TOP}Work Experience\n[title:Baker], [company:Crema Ltd], 2019 - 2021\n\nEducation\n${line}, 2012`,
      );
      return profile?.education.map(({ institution }) => institution);
    };
    expect(await schools('[school:Government] [school:Inter College]')).toEqual(['Government Inter College']);
    expect(await schools('[school:Leeds College] [school:University of York]')).toHaveLength(2);
  });

  test('G-7 a school among the jobs has a position or a time, and no degree before it', async () => {
    const jobs = async (line: string) => {
      const profile = await readMarked(
        `${TOP}Work Experience\n\n[title:Baker]\n[company:Blue Spruce Ltd]\nJune 2012 - January 2015\n\n${line}`,
      );
      return profile?.work.map(({ name }) => name);
    };
    expect(await jobs('[school:Leeds University], 2012')).toEqual(['Blue Spruce Ltd']);
    expect(await jobs('[degree:BSc Physics] [school:Leeds University], 2008 - 2012')).toEqual([
      'Blue Spruce Ltd',
    ]);
    expect(await jobs('[title:Teacher], [school:Leeds School], 2016 - 2018')).toContain('Leeds School');
  });

  test('G-7 the addresses and positions of referees are not those of the person', async () => {
    const jobs = 'Experience\n\n[company:Hotel Larimer]\n[title:Pastry Chef]\nFeb 2015 - Nov 2020\n\n';
    for (const heading of ['References', 'Referenzen:']) {
      const profile = await readMarked(
        `Marlon Okafor\nLeeds\n\n${jobs}${heading}\n\nGlen Chen, [title:Hotel Manager] at [company:Blue Spruce Ltd] (2019)\n` +
          'glen.chen@example.com, 020 7946 0321, linkedin.com/in/glenchen',
      );
      expect(profile?.work).toMatchObject([{ position: 'Pastry Chef', name: 'Hotel Larimer' }]);
      expect(profile?.basics).toMatchObject({
        name: 'Marlon Okafor',
        email: null,
        phone: null,
        profiles: [],
      });
    }
    const ended = await readMarked(
      `Marlon Okafor\n\n${jobs}References\nAvailable on request\n\nmarlon.okafor@example.com`,
    );
    expect(ended?.basics.email).toBe('marlon.okafor@example.com');
    const customers = await readMarked(
      `${TOP}Referenzen\n\n[company:Blue Spruce Ltd]\n[title:Architect]\nJuly 2019 - May 2021`,
    );
    expect(customers?.work).toMatchObject([{ position: 'Architect', name: 'Blue Spruce Ltd' }]);
  });

  test('G-7 names in the list below a job are neither employers nor that of the job below them', async () => {
    const profile = await readMarked(
      `${TOP}Work Experience\n\n[title:Sales Engineer], [company:Blue Harbour Ltd]\nJune 2018 - May 2021\nFirewalls\n[company:Maya Render]\n\n` +
        '[title:Linux Administrator], [company:Meridian Foods Ltd]\nJan 2015 - May 2018\n\n[company:Houdini Render]\nStorage\n\n' +
        '[title:Render Farm Engineer], [company:Larimer Studios Ltd]\nMay 2012 - Dec 2014',
    );
    expect(profile?.work).toMatchObject([
      { position: 'Sales Engineer', name: 'Blue Harbour Ltd', startDate: '2018-06' },
      { position: 'Linux Administrator', name: 'Meridian Foods Ltd', startDate: '2015-01' },
      { position: 'Render Farm Engineer', name: 'Larimer Studios Ltd', startDate: '2012-05' },
    ]);
  });

  test('G-7 a year in a column of dates is not replaced by the span of the line below it', async () => {
    for (const gap of ['  ', '\t', ' ']) {
      const line = (date: string, rest: string) => `${date}${gap}${rest}`;
      const profile = await readMarked(
        `${TOP}Experience\n\n[title:Baker]\n[company:Blue Spruce Ltd]\nJune 2012 - January 2015\n\nEducation\n\n` +
          `${line('2022', '[school:Open University], [degree:PGCert Management]')}\n` +
          `${line('2009 - 2012', '[school:Leeds College], [degree:BSc Physics]')}\n` +
          `${line('2008', '[school:Roundhay School], [degree:A levels]')}`,
      );
      expect(profile?.education).toMatchObject([
        { institution: 'Open University', startDate: null, endDate: '2022' },
        { institution: 'Leeds College', startDate: '2009', endDate: '2012' },
        { institution: 'Roundhay School', startDate: null, endDate: '2008' },
      ]);
    }
  });

  test('G-7 a field of study before its degree, with the dates between them, is one study', async () => {
    for (const lines of [
      '[degree:Computer Information Systems]\nJun 1992 - Jun 1995\n\n[degree:Bachelor of Science]',
      'Jun 1992 - Jun 1995\n[degree:Computer Information Systems], [degree:Bachelor of Science]',
    ]) {
      const profile = await readMarked(
        `${TOP}Experience\n\n[title:Baker]\n[company:Blue Spruce Ltd]\nJune 2012 - January 2015\n\nEducation\n\n[school:DeVry University]\n${lines}`,
      );
      expect(profile?.education).toEqual([
        {
          institution: 'DeVry University',
          studyType: 'Bachelor of Science',
          area: 'Computer Information Systems',
          startDate: '1992-06',
          endDate: '1995-06',
        },
      ]);
    }
  });

  test('G-7 a degree in capitals ends where its school begins', async () => {
    const profile = await readMarked(
      `${TOP}Education and training\n01/10/2013 - 30/06/2015\n[degree:DEGREE IN ROBOTICS Technical] [school:University of Cluj]\n`,
    );
    expect(profile?.education).toMatchObject([
      { institution: 'Technical University of Cluj', area: 'ROBOTICS', startDate: '2013-10' },
    ]);
  });

  test('G-7 the short and the long name of a school, and both of its subjects, are one school', async () => {
    const profile = await readMarked(
      `${TOP}Experience\n\n[title:Baker]\n[company:Blue Spruce Ltd]\nJune 2012 - January 2015\n\nEducation\n\n` +
        '[school:Technion] - [school:Israel Institute of Technology]\n2008 - 2011\n\n[school:Larimer School of Business] and Technology\n2006 - 2008',
    );
    expect(profile?.education.map(({ institution }) => institution)).toEqual([
      'Technion - Israel Institute of Technology',
      'Larimer School of Business and Technology',
    ]);
  });

  test('G-7 what a position is held in is no employer', async () => {
    const profile = await readMarked(
      `${TOP}Work Experience\n2021 - present  [title:Senior Lecturer] in [company:Chemistry], [school:University of Leeds]\n` +
        '2016 - 2021  [title:Research Associate], [company:Institute for Soils]\n',
    );
    expect(profile?.work).toMatchObject([
      { position: 'Senior Lecturer in Chemistry', name: 'University of Leeds', startDate: '2021' },
      { position: 'Research Associate', name: 'Institute for Soils', startDate: '2016' },
    ]);
  });

  test('G-7 headings in the left column are read line by line', async () => {
    const gap = ' '.repeat(15);
    const columns = await readMarked(
      'Sunniva Aldridge\n\nContact        3 Lark Rise, Leeds\n' +
        `${gap}sunniva@example.com\n\nProfile        Gardener with a love of walled gardens.\n\n` +
        `Experience     [title:Head Gardener], [company:Nailsworth Manor Ltd]\n${gap}Mar 2018 to present\n\n` +
        `${gap}[title:Gardener], [company:Painswick Estates Ltd]\n${gap}Apr 2011 to Feb 2018\n\n` +
        `Education      [degree:Diploma in Horticulture]\n${gap}[school:Pershore College], 2010 to 2011\n`,
    );
    expect(columns?.work.map(({ name }) => name)).toEqual(['Nailsworth Manor Ltd', 'Painswick Estates Ltd']);
    expect(columns?.education).toMatchObject([
      { institution: 'Pershore College', area: 'Horticulture', startDate: '2010' },
    ]);
    expect(columns?.total_months_experience).toBe(159);
  });
});

describe('where a person lives', () => {
  const REST = '\n\nWork Experience\n[title:Driver], [company:Celtic Haulage Ltd]\nMarch 2017 to present\n';

  test.each([
    ['Bulawayo, Zimbabwe', 'Bulawayo', 'ZW'],
    ['ul. Lipowa 18/4, 90-630 Lodz, Poland', 'Lodz', 'PL'],
    ['12 Orchard Close, Truro TR1 2AB', 'Truro', 'GB'],
    ['Birmingham B29', 'Birmingham', 'GB'],
    ['Zimbabwe', null, 'ZW'],
  ])(
    'G-7 a town that no list has is known by its country or postcode: %s',
    async (line, city, countryCode) => {
      const profile = await readMarked(`Marlon Okafor\nmarlon.okafor@example.com\n${line}${REST}`);
      expect(profile?.basics.location).toMatchObject({ city, countryCode });
    },
  );

  test('G-7 a name before a country is no town', async () => {
    const profile = await readMarked(`Marlon Okafor, Zimbabwe\nmarlon.okafor@example.com${REST}`);
    expect(profile?.basics).toMatchObject({
      name: 'Marlon Okafor',
      location: { city: null, countryCode: 'ZW' },
    });
  });

  test('G-7 the lines below the name say it where a column of other things was read first', async () => {
    const profile = await readMarked(
      `Contact\nmarlon.okafor@example.com\n\nCertifications\nAPICS CPIM\n\nMarlon Okafor\nDriver\nChicago, Illinois, United States${REST}`,
    );
    expect(profile?.basics.location).toEqual({ city: 'Chicago', region: 'Illinois', countryCode: 'US' });
  });
});

test('G-7 an item of a list of skills is not cut to its last word', async () => {
  const profile = await readMarked(
    `${TOP}Work Experience\n[title:Barista], [company:Crema Ltd], 2019 - 2021\n\nSkills\nLatte art, Rota [skill:planning], [skill:Python], [skill:Java] [skill:SQL]`,
  );
  const names = profile?.skills.map(({ name }) => name);
  expect(names).toContain('Rota planning');
  expect(names).not.toContain('planning');
  expect(names).toEqual(expect.arrayContaining(['Python', 'Java', 'SQL']));
});

test('G-7 the short name of a university before its long one is a part of the school', async () => {
  const schools = async (line: string) => {
    const profile = await readMarked(
      `${TOP}Education\n2009 - 2014\n${line}\n\nWork Experience\n[title:Baker], 2015 - 2020`,
    );
    return profile?.education.map(({ institution, studyType }) => [institution, studyType]);
  };
  expect(await schools('[degree:VŠB] – [school:Technická univerzita Ostrava]')).toEqual([
    ['VŠB – Technická univerzita Ostrava', null],
  ]);
  expect(await schools('[school:AGH] – [school:Akademia Górniczo-Hutnicza]')).toEqual([
    ['AGH – Akademia Górniczo-Hutnicza', null],
  ]);
  expect(await schools('[school:Lund University] – [school:Technical University of Munich]')).toHaveLength(2);
  expect(await schools('[degree:MBA] – [school:Harvard University]')).toEqual([
    ['Harvard University', 'MBA'],
  ]);
});
