import { readFileSync } from 'node:fs';
import type { Field } from '../cv-fields.ts';
import { isoMonth, type LabelSpan, labelSpan, lastMonth, monthsOf } from './label-months.ts';
import type { SourceCv } from './source-cvs.ts';

interface Line {
  readonly content: string;
  readonly annotation: readonly {
    readonly label: readonly string[];
    readonly points: readonly { readonly text: string }[];
  }[];
}

const FIELD_OF: Readonly<Record<string, Field>> = {
  Name: 'name',
  'Email Address': 'e-mail',
  Designation: 'titles',
  'Companies worked at': 'companies',
  'College Name': 'schools',
  Degree: 'degrees',
  Skills: 'skills',
};

/**
 * DataTurks' "Entity Recognition in Resumes": 220 CVs that a job site exported, one JSON a line. Many offsets are off by
 * one, so the text that a label repeats is taken. Of e-mail labels those without an @ are addresses of pages and are left out.
 * Skills are whole blocks: see `skillsIn`.
 */
export function readDataturks(file: string): SourceCv[] {
  const seen = new Set<string>();
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as Line)
    .filter(({ content }) => !seen.has(content) && seen.add(content))
    .map(({ content, annotation }, at) => ({
      name: `dataturks-${String(at + 1).padStart(3, '0')}`,
      text: content,
      values: valuesOf(content, annotation),
      ...monthsIn(content),
    }));
}

function valuesOf(text: string, annotation: Line['annotation']): SourceCv['values'] {
  const values: Partial<Record<Field, string[]>> = {};
  for (const { label, points } of annotation) {
    const field = FIELD_OF[label[0] ?? ''];
    if (field === undefined) continue;
    for (const point of points) {
      const value = point.text.trim();
      const parts = field === 'skills' ? skillsIn(value) : [value];
      values[field] = [...(values[field] ?? []), ...parts];
    }
  }
  const emails = (values['e-mail'] ?? []).filter((value) => value.includes('@'));
  delete values['e-mail'];
  if (emails.length > 0) values['e-mail'] = emails;
  else if (!text.includes('@')) values['e-mail'] = [];
  return values;
}

const MOST_WORDS = 5;

/** A block of skills item by item: cut at line ends, bullets, commas and semicolons, without labels and remarks in brackets. */
export function skillsIn(block: string): string[] {
  return block
    .replace(/\([^()]*\)/g, '')
    .split(/[\n,;•|●▪➢✓]+/)
    .map((item) => item.replace(/^[^:]{0,40}:/, '').replace(/^[\s*–-]+|[\s.]+$/g, ''))
    .filter((item) => /\p{L}|\d/u.test(item) && item.split(/\s+/).length <= MOST_WORDS);
}

/** The export gives every job's span a line of its own between two headings in capitals, whatever the labels say. */
function monthsIn(text: string): Pick<SourceCv, 'months' | 'today'> {
  const lines = text.split('\n').map((line) => line.trim());
  const begin = lines.indexOf('WORK EXPERIENCE');
  if (begin === -1) return {};
  const length = lines
    .slice(begin + 1)
    .findIndex((line) =>
      /^(?:EDUCATION|SKILLS|ADDITIONAL INFORMATION|LINKS|AWARDS|CERTIFICATIONS.*|PUBLICATIONS|GROUPS|PATENTS|MILITARY SERVICE)$/.test(
        line,
      ),
    );
  const section = lines.slice(begin + 1, length === -1 ? lines.length : begin + 1 + length);
  const spans: LabelSpan[] = section.flatMap((line) => labelSpan(line) ?? []);
  if (spans.length === 0) return {};
  const today = lastMonth(spans);
  return { months: monthsOf(spans, today), today: isoMonth(today) };
}
