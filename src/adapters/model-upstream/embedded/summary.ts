import { meaningfulStems, sentencesOf } from './text-parts.ts';

/** Of a longer text the beginning and the end are looked at: the work stays bounded. */
const LOOKED_AT = 200_000;
const SHORTEST_SENTENCE_WORDS = 3;

/**
 * The sentences that say most of what the text is about, in their order. A sentence weighs as much as its words
 * are frequent in the whole text, each counted once, over the root of how many there are: neither the longest
 * nor the shortest wins. The first sentence gets a tenth more, for texts begin with what they are about.
 */
export function summarise(text: string, sentenceCount: number): string {
  const looked =
    text.length <= LOOKED_AT ? text : `${text.slice(0, LOOKED_AT / 2)}\n${text.slice(-LOOKED_AT / 2)}`;
  const sentences = sentencesOf(looked);
  if (sentences.length <= sentenceCount) return sentences.join(' ');

  const stems = sentences.map((sentence) => [...new Set(meaningfulStems(sentence))]);
  const frequency = new Map<string, number>();
  for (const stem of stems.flat()) frequency.set(stem, (frequency.get(stem) ?? 0) + 1);

  const weighed = stems.map((ofSentence, place) => {
    const sum = ofSentence.reduce((total, stem) => total + (frequency.get(stem) ?? 0), 0);
    const weight = ofSentence.length < SHORTEST_SENTENCE_WORDS ? 0 : sum / Math.sqrt(ofSentence.length);
    return { place, weight: place === 0 ? weight * 1.1 : weight };
  });
  return weighed
    .sort((a, b) => b.weight - a.weight || a.place - b.place)
    .slice(0, sentenceCount)
    .sort((a, b) => a.place - b.place)
    .map(({ place }) => sentences[place] ?? '')
    .join(' ');
}
