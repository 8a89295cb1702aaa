import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { ParsedPosting } from '../../src/domain/documents/parsed-document.ts';
import type { Interval } from '../sources/intervals.ts';
import { measureBoard } from './board-postings.ts';
import { readLabelledPostings } from './labelled-postings.ts';
import { measurePostings } from './measure-postings.ts';

interface PostingReader {
  readonly name: string;
  read(text: string): ParsedPosting | Promise<ParsedPosting>;
}

interface ReportOptions {
  readonly part: 'look' | 'report';
  /** Prints what was missed and made up in this field instead of figures; only of what may be looked at. */
  readonly errors?: string | undefined;
}

/**
 * FOLDER/postings: each `NAME.txt` has labelled postings (a name that ends in `held-out` is only reported), each folder
 * postings of a job board.
 */
export async function reportPostings(
  folder: string,
  readers: readonly PostingReader[],
  { part, errors }: ReportOptions,
): Promise<string[]> {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((one, other) =>
    one.name.localeCompare(other.name),
  );
  const lines: string[] = [];
  for (const entry of entries) {
    const path = join(folder, entry.name);
    const isFile = entry.name.endsWith('.txt');
    if (isFile && part === 'look' && entry.name.includes('held-out')) continue;
    for (const reader of readers) {
      if (isFile) lines.push(...(await labelledLines(path, reader, errors)));
      else if (!entry.name.includes('.') && errors === undefined)
        lines.push(...(await boardLines(path, reader, part)));
    }
  }
  return lines;
}

async function labelledLines(
  file: string,
  reader: PostingReader,
  wanted: string | undefined,
): Promise<string[]> {
  const figures = await measurePostings(readLabelledPostings(file), (text) => reader.read(text));
  const { postings, refused, fields, errors } = figures;
  if (wanted !== undefined)
    return errors
      .filter(({ field }) => field === wanted)
      .map(
        ({ posting, missed, extra }) =>
          `${posting}: missed ${JSON.stringify(missed)} made up ${JSON.stringify(extra)}`,
      );
  return [
    '',
    `postings, ${basename(file, '.txt')}, ${reader.name}: ${postings} postings, ${refused} of them not taken for one`,
    row('field', 'labels', 'F1 equal', '95 %', 'precision', 'recall', 'F1 near', '95 %'),
    ...fields.map(({ field, labels, strict, precision, recall, near }) =>
      row(
        field,
        String(labels),
        figure(strict.value),
        range(strict),
        figure(precision),
        figure(recall),
        figure(near.value),
        range(near),
      ),
    ),
  ];
}

async function boardLines(folder: string, reader: PostingReader, part: 'look' | 'report'): Promise<string[]> {
  const { postings, refused, title, titleBegins, headings, requirements } = await measureBoard(
    folder,
    part,
    (text) => reader.read(text),
  );
  return [
    '',
    `postings, ${basename(folder)}, ${reader.name}: ${postings} postings of a job board, ${refused} of them not taken for one`,
    `title as the board has it: ${figure(title.value)} (${range(title)}), or its beginning: ${figure(titleBegins.value)} (${range(titleBegins)})`,
    `headings among ${requirements.toLocaleString('en')} requirements: ${headings}`,
  ];
}

function figure(value: number): string {
  return value.toFixed(3);
}

function range({ low, high }: Interval): string {
  return `${low.toFixed(2)}–${high.toFixed(2)}`;
}

function row(first: string, ...cells: readonly string[]): string {
  return `${first.padEnd(12)}${cells.map((cell) => cell.padStart(11)).join('')}`;
}
