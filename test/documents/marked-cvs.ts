import { createEmbeddedEngine } from '../../src/domain/documents/embedded-engine.ts';
import { CV_KINDS, firstLabel, labelCount } from '../../src/domain/documents/tagger/decode.ts';
import { TODAY } from './recorded-documents.ts';

type Kind = (typeof CV_KINDS)[number];

/** Reads `[title:Web Developer] at [company:Acme Ltd]` with a network that is sure of what is in brackets, and of nothing else. */
export async function readMarked(marked: string) {
  const labels = labelCount(CV_KINDS);
  const spans: { kind: Kind; value: string }[] = [];
  const text = marked.replace(/\[(\w+):([^\]]+)\]/g, (_, kind: Kind, value: string) => {
    spans.push({ kind, value });
    return value;
  });
  const scoreWords = async (_document: string, words: readonly string[]) => {
    const scores = new Float32Array(words.length * labels);
    words.forEach((_, at) => {
      scores[at * labels] = 20;
    });
    let from = 0;
    for (const { kind, value } of spans) {
      const wanted = value.match(/[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu) ?? [];
      const begin = words.findIndex(
        (_, at) => at >= from && wanted.every((word, offset) => words[at + offset] === word),
      );
      if (begin === -1) throw new Error(`${value} is cut into other words`);
      from = begin + wanted.length;
      for (let at = begin; at < from; at++) {
        scores[at * labels] = 0;
        scores[at * labels + firstLabel(CV_KINDS, kind) + (at === begin ? 0 : 1)] = 20;
      }
    }
    return scores;
  };
  const { profile } = await createEmbeddedEngine({ tokenScores: { scoreWords } }).readCv(text, TODAY);
  return profile;
}
