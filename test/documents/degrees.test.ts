import { describe, expect, test } from 'bun:test';
import { degreeLevelOf } from '../../src/domain/documents/cv/education.ts';
import { profileOf } from './recorded-documents.ts';

function withEducation(...lines: readonly string[]) {
  return profileOf(
    [
      'Marlon Okafor',
      'marlon.okafor@example.com | Leeds',
      '',
      'Work Experience',
      'Lecturer, Calder College, Leeds',
      'October 2019 - Present',
      '',
      'Education',
      ...lines,
    ].join('\n'),
  );
}

describe('degrees and fields of study', () => {
  test('G-7 a PhD is a doctorate, however it is written', () => {
    for (const degree of ['PhD', 'Phd', 'PHD', 'Ph.D.']) {
      const profile = withEducation(
        `${degree} in Chemistry, University of Leeds, 2013`,
        'MSc in Geology, 2009',
      );
      expect(profile.highest_degree_level).toBe('doctorate');
      expect(profile.education[0]).toMatchObject({ institution: 'University of Leeds', area: 'Chemistry' });
      expect(degreeLevelOf(degree)).toBe('doctorate');
    }
    expect(degreeLevelOf('EdD')).toBe('doctorate');
  });

  test('G-7 a bracket that a degree opens is closed', () => {
    expect(
      withEducation('University of Leeds', 'BSc (Hons) Computer Science, 2012 - 2015').education,
    ).toMatchObject([
      { institution: 'University of Leeds', studyType: 'BSc (Hons)', area: 'Computer Science' },
    ]);
  });

  test.each([
    ['Certificate in Data Analytics', 'Certificate', 'Data Analytics'],
    ['Level 3 Diploma in Horticulture', 'Level 3 Diploma', 'Horticulture'],
    ['NVQ Level 3 Hairdressing', 'NVQ Level 3', 'Hairdressing'],
    ['Bachelor of Social Work', 'Bachelor', 'Social Work'],
  ])('G-7 %s has its field of study', (degree, studyType, area) => {
    const { education } = withEducation(`${degree}, Stockport College, 2015`);
    expect(education).toMatchObject([{ institution: 'Stockport College', studyType, area }]);
  });
});
