import { describe, expect, test } from 'bun:test';
import { createTokenScores } from '../../src/adapters/networks/token-scores.ts';
import { createEmbeddedEngine } from '../../src/domain/documents/embedded-engine.ts';
import { CV_KINDS, firstLabel, labelCount } from '../../src/domain/documents/tagger/decode.ts';
import type { TokenScores } from '../../src/ports/networks/token-scores.ts';
import { cvText, engine as linear, postingText, TODAY } from './recorded-documents.ts';

/** A network that is sure of the given words, and says nothing of all others. */
function sureOf(kind: (typeof CV_KINDS)[number], ...wanted: readonly string[]): TokenScores {
  const labels = labelCount(CV_KINDS);
  return {
    scoreWords: async (document, words) => {
      if (document !== 'cv') return null;
      const scores = new Float32Array(words.length * labels);
      words.forEach((word, at) => {
        const first = firstLabel(CV_KINDS, kind);
        const label = wanted.includes(words[at - 1] ?? '') ? first + 1 : first;
        if (wanted.includes(word)) scores[at * labels + label] = 20;
      });
      return scores;
    },
  };
}

describe('a network beside the linear tagger', () => {
  test('G-7 what it is sure of is in the record, with its place in the text', async () => {
    const text = cvText('one-column');
    const word = 'downtime';
    const engine = createEmbeddedEngine({ tokenScores: sureOf('skill', word) });
    const { profile, evidence } = await engine.readCv(text, TODAY);
    const at = profile?.skills.findIndex(({ name }) => name === word) ?? -1;
    expect(at).toBeGreaterThanOrEqual(0);
    const { start, end } = evidence.find(({ path }) => path === `skills[${at}].name`) ?? { start: 0, end: 0 };
    expect(text.slice(start, end)).toBe(word);
  });

  test('G-7 a label that it takes for the beginning of a position is left out', async () => {
    const text = cvText('one-column').replace('\nSoftware Developer', '\nRole Tester');
    const engine = createEmbeddedEngine({ tokenScores: sureOf('title', 'Role', 'Tester') });
    const { profile } = await engine.readCv(text, TODAY);
    expect(profile?.work[1]?.position).toBe('Tester');
  });

  test('G-7 without it, and with one that cannot run, the linear tagger reads alone', async () => {
    const absent = createEmbeddedEngine({ tokenScores: { scoreWords: async () => null } });
    for (const engine of [absent, createEmbeddedEngine()]) {
      const cv = cvText('german');
      expect(await engine.readCv(cv, TODAY)).toEqual(linear.parseCv(cv, TODAY));
      const posting = postingText('english');
      expect(await engine.readPosting(posting)).toEqual(linear.parsePosting(posting));
    }
  });

  test('A-13 is not called for a document that is not a CV or a few plain lines, and gets the signal of the call', async () => {
    const signals: (AbortSignal | undefined)[] = [];
    const engine = createEmbeddedEngine({
      tokenScores: {
        scoreWords: async (_document, _words, _signs, signal) => {
          signals.push(signal);
          return null;
        },
      },
    });
    await engine.readCv('Lunch is at noon.', TODAY);
    await engine.readCv('Ada Byron, bricklayer with ten years of experience', TODAY);
    await engine.readPosting(cvText('one-column'));
    expect(signals).toEqual([]);
    const { signal } = new AbortController();
    await engine.readCv(cvText('one-column'), TODAY, signal);
    await engine.readPosting(postingText('english'), signal);
    expect(signals).toEqual([signal, signal]);
  });
});

/** As some readers leave a text: no line breaks, no headings, no punctuation. */
const ONE_LINE =
  `Marlon Okafor marlon.okafor@example.com Leeds Mar 2019 Present Northwind Analytics Data Engineer pipelines in Python
and Spark Jun 2015 Feb 2019 Calder Retail Group Junior Data Analyst reports in SQL and Tableau 2012 2015 University of Bradford
BSc Computer Science Python Spark SQL Tableau Airflow`.replaceAll('\n', ' ');

describe('the network of models/tagger', () => {
  const tokenScores = createTokenScores({
    onUnavailable: (reason) => {
      throw new Error(reason);
    },
  });
  const engine = createEmbeddedEngine({ tokenScores });

  test('G-7 reads a CV without line breaks, in which the linear tagger runs an employer into its position', async () => {
    const { profile } = await engine.readCv(ONE_LINE, TODAY);
    expect(profile).toMatchObject({
      basics: { name: 'Marlon Okafor' },
      current_title: 'Data Engineer',
      current_company: 'Northwind Analytics',
      education: [{ institution: 'University of Bradford', studyType: 'BSc', area: 'Computer Science' }],
    });
    expect(linear.parseCv(ONE_LINE, TODAY).profile?.current_company).not.toBe('Northwind Analytics');
  });
});
