import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readDocument } from '../../src/adapters/document-reader/read-document.ts';
import { DOCUMENT_LIMITS } from '../../src/ports/document-reader.ts';
import type { Field } from '../cv-fields.ts';
import {
  isoMonth,
  type LabelPoint,
  type LabelSpan,
  lastMonth,
  monthsOf,
  spanBetween,
} from './label-months.ts';
import type { SourceCv } from './source-cvs.ts';

type Maybe = string | null | undefined;

interface Job {
  readonly name?: Maybe;
  readonly company?: Maybe;
  readonly position?: Maybe;
  readonly startDate?: Maybe;
  readonly endDate?: Maybe;
}

interface JsonResume {
  readonly basics?: {
    readonly name?: Maybe;
    readonly label?: Maybe;
    readonly email?: Maybe;
    readonly phone?: Maybe;
  };
  readonly work?: readonly Job[];
  readonly education?: readonly {
    readonly institution?: Maybe;
    readonly studyType?: Maybe;
    readonly area?: Maybe;
  }[];
  readonly skills?: readonly { readonly name?: Maybe; readonly keywords?: readonly unknown[] | null }[];
}

/** Below this share of a list in the document, the document is an older or a shorter one and says nothing of the field. */
const LEAST_SHARE = 0.8;

/**
 * CVs that their authors publish twice: as data (JSON Resume) and as the document made of it. INPUT has a folder a person
 * with `resume.json` and one of `resume.pdf`, `.docx`, `.html`, `.md`, `.txt`; the document is read as the product reads it. A
 * value counts only if the document has it.
 */
export async function readJsonResumes(folder: string): Promise<SourceCv[]> {
  const cvs: SourceCv[] = [];
  for (const name of readdirSync(folder).sort()) {
    const file = ['pdf', 'docx', 'html', 'md', 'txt']
      .map((ending) => join(folder, name, `resume.${ending}`))
      .find((path) => existsSync(path));
    const data = join(folder, name, 'resume.json');
    if (file === undefined || !existsSync(data)) continue;
    const read = await readDocument(new Uint8Array(readFileSync(file)), DOCUMENT_LIMITS);
    if (read.outcome !== 'read') continue;
    const resume = inForm(JSON.parse(readFileSync(data, 'utf8')) as JsonResume);
    cvs.push({ name, text: read.text, values: valuesOf(resume, read.text), ...monthsIn(resume, read.text) });
  }
  return cvs;
}

/** Some authors write an object where the form has a list. */
function inForm(resume: JsonResume): JsonResume {
  const listOf = <T>(value: readonly T[] | undefined): readonly T[] => (Array.isArray(value) ? value : []);
  const { work, education, skills } = resume;
  return { ...resume, work: listOf(work), education: listOf(education), skills: listOf(skills) };
}

/** Documents without labels: how many are taken for CVs, and how long that takes. */
export async function readUnlabelled(folder: string): Promise<SourceCv[]> {
  const cvs: SourceCv[] = [];
  for (const name of readdirSync(folder).sort()) {
    const read = await readDocument(new Uint8Array(readFileSync(join(folder, name))), DOCUMENT_LIMITS);
    if (read.outcome === 'read') cvs.push({ name, text: read.text, values: {} });
  }
  return cvs;
}

function valuesOf({ basics, work, education, skills }: JsonResume, text: string): SourceCv['values'] {
  const squeezed = squeeze(text);
  const has = (value: string) => squeeze(value) !== '' && squeezed.includes(squeeze(value));
  const values: Partial<Record<Field, string[]>> = {};
  const add = (field: Field, wanted: readonly Maybe[]) => {
    const named = wanted.filter((value): value is string => typeof value === 'string' && value.trim() !== '');
    const there = named.filter(has);
    if (there.length > 0 && there.length >= named.length * LEAST_SHARE) values[field] = there;
  };
  add('name', [basics?.name]);
  if (basics?.email != null && text.toLowerCase().includes(basics.email.toLowerCase()))
    add('e-mail', [basics.email]);
  const digits = (basics?.phone ?? '').replace(/\D/g, '');
  if (digits.length >= 7 && text.replace(/\D/g, '').includes(digits.slice(-9)))
    values.phone = [basics?.phone ?? ''];
  add(
    'titles',
    (work ?? []).map(({ position }) => position),
  );
  if (values.titles !== undefined && basics?.label != null && has(basics.label))
    values.titles.push(basics.label);
  add(
    'companies',
    (work ?? []).map(({ name, company }) => name ?? company),
  );
  add(
    'schools',
    (education ?? []).map(({ institution }) => institution),
  );
  add(
    'degrees',
    (education ?? []).map(({ studyType, area }) => {
      const whole = `${studyType ?? ''} ${area ?? ''}`;
      return has(whole) ? whole : studyType;
    }),
  );
  add(
    'skills',
    (skills ?? []).flatMap(({ name, keywords }) => {
      const words = (Array.isArray(keywords) ? keywords : []).filter(
        (word): word is string => typeof word === 'string',
      );
      return words.length > 0 ? words : [name];
    }),
  );
  return values;
}

function squeeze(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}+#]/gu, '');
}

/** Where every job has its dates and the document names their years. */
function monthsIn({ work = [] }: JsonResume, text: string): Pick<SourceCv, 'months' | 'today'> {
  const spans: LabelSpan[] = [];
  for (const { startDate, endDate } of work) {
    const from = pointIn(startDate, text);
    const to =
      (endDate ?? '') === '' || /present|current|now/i.test(endDate ?? '')
        ? 'present'
        : pointIn(endDate, text);
    if (from === null || to === null) return {};
    spans.push(spanBetween(from, to));
  }
  if (spans.length === 0) return {};
  const today = lastMonth(spans);
  return { months: monthsOf(spans, today), today: isoMonth(today) };
}

function pointIn(date: Maybe, text: string): LabelPoint | null {
  const match = /^((?:19|20)\d\d)(?:-(\d\d))?/.exec(date ?? '');
  if (match === null || !text.includes(match[1] ?? '')) return null;
  return { year: Number(match[1]), month: match[2] === undefined ? null : Number(match[2]) };
}
