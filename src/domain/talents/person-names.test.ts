import { expect, test } from 'bun:test';
import { namesAgree } from './person-names.ts';

test.each([
  ['Ada Byron', 'ada  BYRON'],
  ['A. Byron', 'Ada Byron'],
  ['Byron, Ada', 'Ada Augusta Byron'],
  ['Dr. Jürgen Groß', 'Juergen Gross, PhD'],
  ['Zoë Ångström', 'Zoe Angstrom'],
  ['Łukasz Żółć', 'Lukasz Zolc'],
  ["Siobhán O'Neil", 'Siobhan ONeil'],
  ['Anna-Maria Rossi', 'Anna Maria Rossi'],
  ['王小明', '王小明'],
])('%s and %s can be one person', (one, other) => {
  expect([namesAgree(one, other), namesAgree(other, one)]).toEqual([true, true]);
});

test.each([
  ['Ada Byron', 'Anna Byron'],
  ['Ada', 'Ada Byron'],
  ['A. B.', 'Ada Byron'],
  ['Anna Anna', 'Anna Byron'],
  ['Byron', 'Ada'],
  ['王小明', '王大伟'],
  ['रवि', 'रीवा'],
  [null, 'Ada Byron'],
  ['', '…'],
])('%s and %s are not taken for one person', (one, other) => {
  expect([namesAgree(one, other), namesAgree(other, one)]).toEqual([false, false]);
});
