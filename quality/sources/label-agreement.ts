import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { FIELDS, type Field } from '../cv-fields.ts';
import { compare, isNear, isSame, type Sameness, type Tally } from '../score.ts';
import { LABELS, readCompletelyLabelled } from './complete-labels.ts';
import { f1Interval, type Interval } from './intervals.ts';

export interface Agreement {
  readonly field: Field;
  /** Values that the first one has, and the second one. */
  readonly labels: readonly [number, number];
  readonly strict: Interval;
  readonly near: Interval;
}

/**
 * How far two people who labelled the same CVs agree, without having seen each other's labels: F1 of one against the other, compared
 * as found values are compared with labels. Places of both are in `first` and `second` of the labels' folder; null where they are not.
 */
export function agreementOf(
  file: string,
  labelsFolder = LABELS,
): { cvs: number; fields: Agreement[] } | null {
  const folders = ['first', 'second'].map((one) => join(labelsFolder, one));
  if (!folders.every((folder) => existsSync(join(folder, `${basename(dirname(file))}.json`)))) return null;
  const [first = [], second = []] = folders.map((folder) => readCompletelyLabelled(file, folder));
  const pairs = first.flatMap((one) => {
    const other = second.find(({ name }) => name === one.name);
    return other === undefined ? [] : [{ one: one.values, other: other.values }];
  });
  const fields = FIELDS.flatMap((field) => {
    const tallies = (sameness: Sameness) =>
      pairs.flatMap(({ one, other }) => {
        const [wanted, found] = [one[field], other[field]];
        if (wanted === undefined || found === undefined) return [];
        const tally: Tally = { right: 0, extra: 0, missed: 0 };
        compare(tally, wanted, found, sameness);
        return [tally];
      });
    const all = tallies(isSame);
    if (all.length === 0) return [];
    const sum = (part: keyof Tally) => all.reduce((total, tally) => total + tally[part], 0);
    const labels = [sum('right') + sum('missed'), sum('right') + sum('extra')] as const;
    return [{ field, labels, strict: f1Interval(all), near: f1Interval(tallies(isNear)) }];
  });
  return { cvs: pairs.length, fields };
}
