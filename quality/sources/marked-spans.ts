import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Field } from '../cv-fields.ts';
import { isoMonth, type LabelSpan, labelSpan, lastMonth, monthsOf } from './label-months.ts';
import type { SourceCv } from './source-cvs.ts';

interface Task {
  readonly id: number;
  readonly data: { readonly text: string };
  readonly annotations: readonly {
    readonly result: readonly {
      readonly value?: { readonly text?: string; readonly labels?: readonly string[] };
    }[];
  }[];
}

const STUDIO_FIELDS: Readonly<Record<string, Field>> = {
  designation: 'titles',
  company_name: 'companies',
  place_basic_education: 'schools',
  place_higher_education: 'schools',
  basic_education: 'degrees',
  higher_education: 'degrees',
  technical_skills: 'skills',
  'soft-skills': 'skills',
};

const MOST_SKILL_WORDS = 5;

/**
 * Exports of Label Studio with the labels of vrundag91/Resume-Corpus-Dataset: texts without line ends and without most
 * punctuation. An eighth of the offsets does not give the label's own text, so that text is taken. Skills of more than five
 * words are sentences and are left out. Months of work are taken where every label of a time is a span, and there is one for
 * every employer.
 */
export function readLabelStudio(folder: string): SourceCv[] {
  const seen = new Set<string>();
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .flatMap((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Task[])
    .filter(({ data }) => !seen.has(data.text) && seen.add(data.text))
    .flatMap(({ id, data, annotations }) => {
      const marks = (annotations[0]?.result ?? []).flatMap(({ value }) =>
        value?.text !== undefined && value.labels?.[0] !== undefined
          ? [{ label: value.labels[0], text: value.text.trim() }]
          : [],
      );
      if (marks.length === 0) return [];
      const values: Partial<Record<Field, string[]>> = {};
      for (const { label, text } of marks) {
        const field = STUDIO_FIELDS[label];
        if (field === undefined || !data.text.includes(text)) continue;
        if (field === 'skills' && text.split(/\s+/).length > MOST_SKILL_WORDS) continue;
        values[field] = [...(values[field] ?? []), text];
      }
      return [{ name: `task-${id}`, text: data.text, values, ...monthsOfMarks(marks) }];
    });
}

function monthsOfMarks(
  marks: readonly { label: string; text: string }[],
): Pick<SourceCv, 'months' | 'today'> {
  const times = marks.filter(({ label, text }) => label === 'work_year' && /\d{4}/.test(text));
  const spans: (LabelSpan | null)[] = times.map(({ text }) => labelSpan(text));
  const read = spans.filter((span) => span !== null);
  const employers = marks.filter(({ label }) => label === 'company_name').length;
  if (read.length === 0 || read.length < spans.length || read.length < employers) return {};
  const today = lastMonth(read);
  return { months: monthsOf(read, today), today: isoMonth(today) };
}

type Passage = readonly [string, { readonly entities: readonly (readonly [number, number, string])[] }];

const PASSAGE_FIELDS: Readonly<Record<string, Field>> = {
  PERSON_NAME: 'name',
  JOB_TITLE: 'titles',
  ORGANIZATION: 'organisations',
  EDUCATION: 'degrees',
  SKILL: 'skills',
};

/** Fewer characters are no CV. */
const LEAST_CHARACTERS = 400;

/**
 * spaCy's form as in minhquan23102000/RESUME_NER_DATASET: a file a passage, numbered in the order of the CVs, without line
 * ends and without most punctuation. A passage that names a person at its top begins a CV; the passages are its lines.
 */
export function readPassages(folder: string): SourceCv[] {
  const files = readdirSync(folder)
    .filter((name) => /\d+\.json$/.test(name))
    .sort((one, other) => numberOf(one) - numberOf(other));
  const cvs: { first: string; passages: Passage[] }[] = [];
  const seen = new Set<string>();
  for (const file of files) {
    const { annotations } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as {
      annotations: Passage[];
    };
    for (const passage of annotations) {
      const [text, { entities }] = passage;
      if (seen.has(text)) continue;
      seen.add(text);
      if (entities.some(([start, , label]) => label === 'PERSON_NAME' && start < 60))
        cvs.push({ first: file, passages: [passage] });
      else cvs.at(-1)?.passages.push(passage);
    }
  }
  return cvs.map(joined).filter(({ text }) => text.length >= LEAST_CHARACTERS);
}

function numberOf(file: string): number {
  return Number(/\d+/.exec(file)?.[0] ?? 0);
}

function joined({ first, passages }: { first: string; passages: readonly Passage[] }): SourceCv {
  const values: Partial<Record<Field, string[]>> = {};
  for (const [text, { entities }] of passages) {
    for (const [start, end, label] of entities) {
      const field = PASSAGE_FIELDS[label];
      if (field === undefined || (field === 'name' && values.name !== undefined)) continue;
      values[field] = [...(values[field] ?? []), text.slice(start, end).trim()];
    }
  }
  return { name: `passages-${numberOf(first)}`, text: passages.map(([text]) => text).join('\n'), values };
}
