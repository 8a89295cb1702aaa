import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ParsedPosting } from '../../src/domain/documents/parsed-document.ts';
import { plain } from '../score.ts';
import { type Interval, shareInterval } from '../sources/intervals.ts';

/** Postings of a public source without labels: a text a file, and its first line is the title that the board shows. */
interface BoardFigures {
  readonly postings: number;
  readonly refused: number;
  /** The share of postings with the board's title, or its beginning where the rest is a place, a term or a sum. */
  readonly title: Interval;
  readonly titleBegins: Interval;
  /** Lines that introduce a list and came out as a requirement, of all requirements. */
  readonly headings: number;
  readonly requirements: number;
}

const LONGEST_HEADING = 80;

export async function measureBoard(
  folder: string,
  part: 'look' | 'report',
  read: (text: string) => ParsedPosting | Promise<ParsedPosting>,
): Promise<BoardFigures> {
  const equal: boolean[] = [];
  const begins: boolean[] = [];
  let [refused, headings, requirements] = [0, 0, 0];
  const names = readdirSync(folder).filter(
    (name) => name.endsWith('.txt') && isOpen(name) === (part === 'look'),
  );
  for (const name of names.sort()) {
    const text = readFileSync(join(folder, name), 'utf8');
    const { posting } = await read(text);
    if (posting === null) refused++;
    const wanted = plain(text.split('\n')[0] ?? '');
    const found = plain(posting?.title ?? '');
    equal.push(found === wanted);
    begins.push(found !== '' && wanted.startsWith(found));
    const asked = posting === null ? [] : [...posting.must_have, ...posting.nice_to_have];
    requirements += asked.length;
    headings += asked.filter((one) => /[:?]$/.test(one.trim()) && one.length <= LONGEST_HEADING).length;
  }
  return {
    postings: names.length,
    refused,
    title: shareInterval(equal),
    titleBegins: shareInterval(begins),
    headings,
    requirements,
  };
}

/** A third of a source, by the hash of the file's name, may be looked at; the rest is only reported. */
function isOpen(name: string): boolean {
  return (createHash('sha256').update(name).digest()[0] ?? 0) % 3 === 0;
}
