import { numberIn, objectIn, textIn, textsIn } from '../../parts/json.ts';

/** What the backend knows about a meeting. Values of an unexpected type are treated as missing. */
export interface Insight {
  readonly status: string;
  readonly durationSeconds: number | null;
  readonly startedLateSeconds: number | null;
  readonly overrunSeconds: number | null;
  readonly isNoShow: boolean;
  readonly attendees: readonly Attendee[];
  readonly summary: Summary | null;
  readonly missing: readonly string[];
  readonly warnings: readonly string[];
}

interface Attendee {
  readonly name: string;
  readonly joinedAt: string;
  readonly seconds: number;
  readonly lateSeconds: number | null;
  /** 0 to 1. */
  readonly talkShare: number | null;
}

export interface Summary {
  readonly sentences: readonly string[];
  readonly decisions: readonly string[];
  readonly actionItems: readonly string[];
  readonly questions: readonly string[];
}

export interface Briefing {
  readonly score: number | null;
  readonly fits: readonly string[];
  readonly askAbout: readonly string[];
}

/** With the speaker, if known. */
const saidIn = (value: unknown): readonly string[] =>
  Array.isArray(value)
    ? value
        .map(objectIn)
        .map(({ text, speaker }) => [textIn(speaker), textIn(text)].filter(Boolean).join(': '))
    : [];

export function insightOf(value: unknown): Insight | null {
  if (value === null || value === undefined) return null;
  const insight = objectIn(value);
  const attendees = Array.isArray(insight.attendees) ? insight.attendees.map(objectIn) : [];
  return {
    status: textIn(insight.status),
    durationSeconds: numberIn(insight.durationSeconds),
    startedLateSeconds: numberIn(insight.startedLateSeconds),
    overrunSeconds: numberIn(insight.overrunSeconds),
    isNoShow: insight.isNoShow === true,
    attendees: attendees.map((one) => ({
      name: textIn(one.name) || textIn(one.email) || 'Unnamed attendee',
      joinedAt: textIn(one.joinedAt),
      seconds: numberIn(one.seconds) ?? 0,
      lateSeconds: numberIn(one.lateSeconds),
      talkShare: numberIn(one.talkShare),
    })),
    summary: summaryOf(insight.summary),
    missing: textsIn(insight.missing),
    warnings: textsIn(insight.warnings),
  };
}

function summaryOf(value: unknown): Summary | null {
  if (value === null || value === undefined) return null;
  const { summary, decisions, actionItems, questions } = objectIn(value);
  return {
    sentences: textsIn(summary),
    decisions: saidIn(decisions),
    actionItems: saidIn(actionItems),
    questions: saidIn(questions),
  };
}

export function briefingOf(value: unknown): Briefing | null {
  if (value === null || value === undefined) return null;
  const { score, fits, askAbout } = objectIn(value);
  return { score: numberIn(score), fits: textsIn(fits), askAbout: textsIn(askAbout) };
}

/** 3,725 becomes “1 h 2 min”; less than a minute is given in seconds. */
export function lengthWords(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  return [hours > 0 ? `${hours} h` : '', rest > 0 ? `${rest} min` : ''].filter(Boolean).join(' ');
}
