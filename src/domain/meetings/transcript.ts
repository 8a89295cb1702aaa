/** What one person said in one go. */
export interface Utterance {
  readonly speaker: string | null;
  readonly text: string;
}

export const LONGEST_TRANSCRIPT = 500_000;
const MOST_UTTERANCES = 20_000;

const TIMES = /^(?:\d{1,2}:)?\d{1,2}:\d{2}[.,]\d{3}\s+-->/;
const CUE_NUMBER = /^\d{1,6}$/;
const TIME_BEFORE = /^[[(]?(?:\d{1,2}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?[\])]?\s*[-–]?\s*/;
const VOICE = /^<v(?:\.[^\s>]+)?\s+([^>]{1,100})>\s*/i;
const SPEAKER = /^(\p{L}[\p{L}\p{M}\p{N} .'’()-]{0,60}):\s+/u;

/** Plain text with or without `Name:` before what somebody says, WebVTT or SRT: line by line. */
export function utterancesOf(transcript: string): readonly Utterance[] {
  const utterances: { speaker: string | null; text: string }[] = [];
  let isNote = false;
  for (const raw of transcript.split(/\r?\n/)) {
    const line = raw.replace(/^\ufeff/, '').trim();
    isNote = line !== '' && (isNote || /^(?:NOTE|STYLE|REGION)\b/.test(line));
    if (line === '' || isNote || line.startsWith('WEBVTT') || TIMES.test(line) || CUE_NUMBER.test(line))
      continue;
    const said = speakerOf(line.replace(TIME_BEFORE, ''));
    const last = utterances.at(-1);
    if (said.text === '') continue;
    if (said.speaker === null && last !== undefined) last.text += ` ${said.text}`;
    else if (said.speaker !== null && last?.speaker === said.speaker) last.text += ` ${said.text}`;
    else if (utterances.length < MOST_UTTERANCES) utterances.push(said);
  }
  return utterances;
}

/** The sentences of an utterance, each with its mark. */
export function sentencesOf({ text }: Utterance): readonly string[] {
  const sentences: string[] = [];
  for (const { segment } of SENTENCES.segment(text)) {
    const sentence = segment.replace(/\s+/g, ' ').trim();
    if (sentence !== '') sentences.push(sentence.slice(0, 600));
  }
  return sentences;
}

const SENTENCES = new Intl.Segmenter('en', { granularity: 'sentence' });

function speakerOf(line: string): { speaker: string | null; text: string } {
  const voice = VOICE.exec(line);
  const told = voice ?? SPEAKER.exec(line);
  const rest = told === null ? line : line.slice(told[0].length);
  const text = rest.replace(/<\/?[a-z][^>]{0,100}>/gi, '').trim();
  return { speaker: told?.[1]?.trim() ?? null, text };
}
