import { describe, expect, test } from 'bun:test';
import { checkProfile, remainingEvidence } from './profile.ts';

const place = (path: string) => ({ path, start: 0, end: 3, confidence: 1 });
const before = {
  basics: { name: 'Ada', phone: null },
  work: [{ position: 'Welder' }, { position: 'Cook' }],
  skills: [{ name: 'TIG' }],
};
const paths = ['basics.name', 'basics.phone', 'work[0].position', 'work[1].position', 'skills[0].name'];

describe('P-15 evidence of a profile that a person has edited', () => {
  test('stays for what they left as it was, and goes for what they typed, moved or took away', () => {
    const after = {
      basics: { name: 'Ada', phone: '1' },
      work: [{ position: 'Cook' }],
      skills: [{ name: 'TIG' }],
    };
    const kept = remainingEvidence(paths.map(place), before, after);
    expect(kept).toEqual([place('basics.name'), place('skills[0].name')]);
  });

  test('is null where nothing of it is left, and where there was none', () => {
    expect(remainingEvidence(paths.map(place), before, {})).toBeNull();
    expect(remainingEvidence(null, before, before)).toBeNull();
    expect(remainingEvidence([place('basics.name')], null, before)).toBeNull();
    expect(remainingEvidence([null, 3, { path: 4 }, place('constructor')], before, before)).toBeNull();
  });
});

test('P-15 a profile is stored without NUL and halves of characters; what only looks like one stays', () => {
  const typed = 'C:\\u0000 \\ud800 \\u0000';
  const given = { basics: { name: typed, label: 'a\u0000b\ud800' }, 'x\u0000': [typed, 1, null] };
  expect(checkProfile(given)).toEqual({
    outcome: 'checked',
    profile: { basics: { name: typed, label: 'ab\ufffd' }, x: [typed, 1, null] },
  });
});
