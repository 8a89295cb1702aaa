import { describe, expect, test } from 'bun:test';
import { canonicalSkill } from '../words/word-lists.ts';
import { layOut } from './layout.ts';

const seen = (text: string) => layOut(text).skills.map(({ value }) => value.canonical);

describe('G-7 skills by their names', () => {
  test('names with marks are whole', () => {
    expect(seen('Skills: C++, C#, .NET, Node.js, F#, CI/CD, PL/SQL, C')).toEqual([
      'C++',
      'C#',
      '.NET',
      'Node.js',
      'F#',
      'CI/CD',
      'PL/SQL',
      'C',
    ]);
    expect(seen('written in JavaScript')).toEqual(['JavaScript']);
  });

  test('many spellings have one name', () => {
    expect(['reactjs', 'React.js', 'k8s', 'postgres', 'MS Excel', 'golang'].map(canonicalSkill)).toEqual([
      'React',
      'React',
      'Kubernetes',
      'PostgreSQL',
      'Microsoft Excel',
      'Go',
    ]);
    expect(canonicalSkill('basket weaving')).toBeNull();
  });

  test('everyday words are skills only where they are listed as such', () => {
    expect(seen('I go to work and express myself in a word.')).toEqual([]);
    expect(seen('Skills\nGo, R, Word')).toEqual(['Go', 'R', 'Microsoft Word']);
    expect(seen('Plan C was to rest and react swift.')).toEqual([]);
  });
});

test('G-7 a town behind a hyphen, as job sites print it, is a part of its own; names with a hyphen are whole', () => {
  const parts = (text: string) => layOut(text).segments.map((segment) => segment.text);
  expect(parts('Peachtree Senior Living-Atlanta, GA')).toEqual(['Peachtree Senior Living', 'Atlanta, GA']);
  expect(parts('Publix-Atlanta, GA 30314')).toEqual(['Publix', 'Atlanta, GA 30314']);
  expect(parts('Caring Hands LLC-Decatur, GA')).toEqual(['Caring Hands LLC', 'Decatur, GA']);
  expect(parts('Acme Freight-Winston-Salem, NC')).toEqual(['Acme Freight', 'Winston-Salem, NC']);
  for (const whole of [
    'Winston-Salem, NC',
    'Clerk in Winston-Salem, NC',
    'Coca-Cola Company, GA',
    'The Coca-Cola Company, GA',
    'Rolls-Royce, IN',
  ])
    expect(parts(whole)).toEqual([whole]);
});

test('G-7 a name that is a word of another language needs its capital, and a word of many names is no skill', () => {
  expect(seen('forms of eva lua tion, su larga scala, est stata')).toEqual([]);
  expect(seen('plugins in Lua and jobs in Scala')).toEqual(['Lua', 'Scala']);
  expect(seen('Skills: lua, python, scala')).toEqual(['Lua', 'Python', 'Scala']);
  expect(seen('Skills: on-time delivery')).toEqual([]);
});
