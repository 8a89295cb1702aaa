import type { DocumentLanguage } from '../document-facts.ts';
import words from '../words/stop-words.json' with { type: 'json' };
import type { Token } from './tokens.ts';

const SETS = Object.entries(words).map(([code, list]) => ({
  code: code as DocumentLanguage,
  words: new Set(list.split(' ')),
}));

/** What a short CV or posting has instead of sentences: headings, months, "present". Words of one language alone. */
const HEADING_WORDS: Readonly<Record<Exclude<DocumentLanguage, 'und'>, string>> = {
  en: `experience education skills languages work history employment present certificates references summary objective
    qualifications requirements responsibilities january february march june july october december native fluent since`,
  de: `berufserfahrung werdegang beruflicher ausbildung kenntnisse sprachen heute seit lebenslauf studium abschluss
    fähigkeiten praktikum aufgaben anforderungen januar februar märz juni juli oktober dezember muttersprache`,
  fr: `expérience expériences formation compétences langues depuis aujourd présent diplôme janvier février mars avril juin
    juillet août octobre décembre missions maternelle`,
  es: `experiencia educación formación habilidades idiomas actualidad actualmente desde laboral enero febrero marzo junio
    julio octubre diciembre requisitos nativo`,
  it: `esperienza esperienze istruzione formazione competenze lingue oggi attuale gennaio febbraio marzo giugno luglio
    ottobre dicembre madrelingua lavorativa`,
  pt: `experiência formação educação competências habilidades idiomas atual atualmente janeiro fevereiro março junho julho
    outubro dezembro nativo`,
  nl: `werkervaring opleiding opleidingen vaardigheden talen heden januari februari maart juni juli oktober december
    moedertaal`,
};
const HEADINGS = Object.entries(HEADING_WORDS).map(([code, list]) => ({
  code: code as DocumentLanguage,
  words: new Set(list.split(/\s+/)),
}));

/** The first thousands of words tell the language as well as all of them. */
const MOST_TOKENS = 4000;
const LEAST_HITS = 4;
/** With so few words one language must be well ahead of the next, or nothing is said. */
const LEAST_POINTS = 2;
const LEAD = 1.5;

/** By the small words that each language has most of. A word that several share counts less. */
export function guessLanguage(tokens: readonly Token[]): DocumentLanguage {
  const words = tokens.slice(0, MOST_TOKENS).flatMap(({ lower, kind }) => (kind === 'word' ? [lower] : []));
  const small = pointsOf(words, SETS);
  if (small.hits >= LEAST_HITS) return ranked(small.points)[0]?.[0] ?? 'und';
  const headings = pointsOf(words, HEADINGS);
  const both = new Map(small.points);
  for (const [code, points] of headings.points) both.set(code, (both.get(code) ?? 0) + points);
  const [best, second] = ranked(both);
  if (best === undefined || best[1] < LEAST_POINTS || best[1] < LEAD * (second?.[1] ?? 0)) return 'und';
  return best[0];
}

interface Points {
  readonly hits: number;
  readonly points: ReadonlyMap<DocumentLanguage, number>;
}

function pointsOf(words: readonly string[], sets: typeof SETS): Points {
  const points = new Map<DocumentLanguage, number>();
  let hits = 0;
  for (const word of words) {
    const having = sets.filter((one) => one.words.has(word));
    if (having.length === 0) continue;
    hits++;
    for (const { code } of having) points.set(code, (points.get(code) ?? 0) + 1 / having.length);
  }
  return { hits, points };
}

function ranked(points: Points['points']): readonly (readonly [DocumentLanguage, number])[] {
  return [...points].sort((one, other) => other[1] - one[1]);
}
