import { readFileSync } from 'node:fs';
import { unzipSync } from 'fflate';
import { hashOf } from '../src/domain/documents/text/tokens.ts';

export interface LabelledSpan {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

export interface LabelledCv {
  readonly name: string;
  readonly text: string;
  readonly spans: readonly LabelledSpan[];
}

/** A zip of XML files whose text has `<label type="…">` around what an annotator marked. */
export function readLabelledCvs(zipFile: string): LabelledCv[] {
  const files = unzipSync(new Uint8Array(readFileSync(zipFile)));
  return Object.entries(files)
    .filter(([path]) => path.endsWith('.xml'))
    .map(([path, bytes]) => labelledCv(path.split('/').at(-1) ?? path, new TextDecoder().decode(bytes)))
    .sort((one, other) => one.name.localeCompare(other.name));
}

const TAG = /<label type="([^"]*)">|<\/label>/g;

function labelledCv(name: string, xml: string): LabelledCv {
  const body = /<cv>([\s\S]*)<\/cv>/.exec(xml)?.[1] ?? '';
  const spans: LabelledSpan[] = [];
  const open: { type: string; start: number }[] = [];
  let text = '';
  let from = 0;
  for (const match of body.matchAll(TAG)) {
    text += decoded(body.slice(from, match.index));
    from = match.index + match[0].length;
    if (match[1] !== undefined) {
      open.push({ type: match[1], start: text.length });
      continue;
    }
    const opened = open.pop();
    if (opened !== undefined) spans.push(trimmed(text, { ...opened, end: text.length }));
  }
  text += decoded(body.slice(from));
  return { name, text, spans: spans.filter((span) => span.end > span.start) };
}

/** Marks often take a blank or a comma along. */
function trimmed(text: string, span: LabelledSpan): LabelledSpan {
  let { start, end } = span;
  while (start < end && /[\s,;:.|•-]/.test(text[start] ?? '')) start++;
  while (end > start && /[\s,;:|•-]/.test(text[end - 1] ?? '')) end--;
  return { ...span, start, end };
}

/** XML's own escapes, sometimes twice, and bytes that were written out as `\xc3\xa9`. */
function decoded(raw: string): string {
  return raw
    .replaceAll('&amp;', '&')
    .replaceAll('&amp;', '&')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replace(/(?:\\x[0-9a-f]{2})+/g, (bytes) => {
      const values = bytes
        .split('\\x')
        .slice(1)
        .map((pair) => Number.parseInt(pair, 16));
      return new TextDecoder().decode(new Uint8Array(values));
    });
}

/**
 * The part of a file, by its name alone: four ninths to train on, two ninths to choose between ways of doing it, and a
 * third that is only reported. It never changes.
 */
export function partOf(name: string): 'train' | 'choose' | 'report' {
  const hash = hashOf(name);
  if ((hash >>> 8) % 3 === 0) return 'report';
  return (hash >>> 16) % 3 === 0 ? 'choose' : 'train';
}
