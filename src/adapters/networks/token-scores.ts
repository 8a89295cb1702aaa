import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import type { TokenScores } from '../../ports/networks/token-scores.ts';
import { readWordPieces, TAGGER_FOLDER } from './network-files.ts';
import { loadOnnxRuntime, type OnnxSession } from './onnx-runtime.ts';
import { CLS_PIECE, SEP_PIECE, UNKNOWN_PIECE, type WordPieces } from './word-pieces.ts';

interface TokenScoresOptions {
  /** The folder with `model.onnx` and `network.json`; for tests. */
  readonly folder?: string;
  /** Called once, if the network cannot be used: texts are then read without it. */
  readonly onUnavailable: (reason: string) => void;
}

/** The format of `network.json` in a tagger's folder. */
const networkSchema = z.object({
  kind: z.literal('token-classifier'),
  /** The columns of the output: those of CVs, then those of postings. */
  labels: z.object({ cv: z.array(z.string()).min(2), posting: z.array(z.string()).min(2) }),
  /** The number of binary features that a word has in addition to its pieces. */
  signs: z.int().min(0).max(1_024),
  /** The most pieces of one word; the rest of a long word adds little. */
  mostPieces: z.int().min(1).max(100),
  windowTokens: z.int().min(8).max(512),
  /** The number of words that two consecutive windows share. */
  overlapWords: z.int().min(0).max(256),
});

type NetworkFacts = z.infer<typeof networkSchema>;

/** The number of words of a text that are scored; the rows of later words are zeros, which have no effect. */
const MOST_WORDS = 60_000;

/**
 * The scores of a token classifier. It runs on the calling thread, which must not serve requests: a window of 256
 * pieces takes about 50 ms. Loaded on the first call.
 */
export function createTokenScores({
  folder = TAGGER_FOLDER,
  onUnavailable,
}: TokenScoresOptions): TokenScores & { close(): void } {
  let network: Network | null | undefined;

  function opened(): Network | null {
    if (network !== undefined) return network;
    try {
      network = openNetwork(folder);
    } catch (error) {
      network = null;
      onUnavailable(error instanceof Error ? error.message : String(error));
    }
    return network;
  }

  return {
    async scoreWords(document, words, signs, signal) {
      const used = opened();
      if (used === null) return null;
      try {
        return await scoreWindows(used, { document, words, signs, signal });
      } catch (error) {
        used.session.close();
        network = null;
        onUnavailable(error instanceof Error ? error.message : String(error));
        return null;
      }
    },
    close() {
      network?.session.close();
      network = null;
    },
  };
}

interface Network {
  readonly facts: NetworkFacts;
  readonly session: OnnxSession;
  readonly pieces: WordPieces;
}

interface Scored {
  readonly document: 'cv' | 'posting';
  readonly words: readonly string[];
  readonly signs: Uint8Array;
  readonly signal: AbortSignal | undefined;
}

function openNetwork(folder: string): Network {
  if (!existsSync(`${folder}/network.json`)) throw new Error(`${folder} has no network`);
  const facts = networkSchema.parse(JSON.parse(readFileSync(`${folder}/network.json`, 'utf8')));
  const loaded = loadOnnxRuntime();
  if (loaded.outcome === 'unavailable') throw new Error(loaded.reason);
  return { facts, pieces: readWordPieces(), session: loaded.runtime.open(`${folder}/model.onnx`) };
}

async function scoreWindows(network: Network, scored: Scored): Promise<Float32Array | null> {
  const { facts, pieces } = network;
  const { document, words, signs, signal } = scored;
  if (signs.length !== words.length * facts.signs) throw new Error('a word has too few signs, or too many');
  const ids = words.slice(0, MOST_WORDS).map((word) => {
    const found = pieces.encode(word).ids.slice(0, facts.mostPieces);
    return found.length === 0 ? [UNKNOWN_PIECE] : found;
  });
  const columns = facts.labels[document].length;
  const scores = new Float32Array(words.length * columns);
  const windows = tokenWindows(ids, facts);
  for (const [at, window] of windows.entries()) {
    if (signal?.aborted === true) return null;
    const rows = rowsOf(network, scored, ids, window);
    for (let word = window.from; word < window.to; word += 1) {
      if (bestWindow(windows, at, word) === at) {
        const from = (word - window.from) * columns;
        scores.set(rows.subarray(from, from + columns), word * columns);
      }
    }
    // A request to stop arrives between windows.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return scores;
}

interface WordWindow {
  readonly from: number;
  readonly to: number;
}

/** As many whole words as fit; training cuts texts in the same way. */
export function tokenWindows(
  ids: readonly (readonly number[])[],
  { windowTokens, overlapWords }: Pick<NetworkFacts, 'windowTokens' | 'overlapWords'>,
): readonly WordWindow[] {
  const windows: WordWindow[] = [];
  let from = 0;
  while (from < ids.length) {
    let to = from;
    let count = 2;
    while (to < ids.length && (to === from || count + (ids[to]?.length ?? 0) <= windowTokens)) {
      count += ids[to]?.length ?? 0;
      to += 1;
    }
    windows.push({ from, to });
    if (to === ids.length) break;
    from = Math.max(from + 1, to - overlapWords);
  }
  return windows;
}

/** The window in which the word is farthest from a cut; the earlier one of two equals. */
function bestWindow(windows: readonly WordWindow[], at: number, word: number): number {
  let best = at;
  let most = -1;
  for (let other = Math.max(0, at - 8); other < Math.min(windows.length, at + 9); other += 1) {
    const distance = distanceToCut(windows, other, word);
    if (distance > most) [best, most] = [other, distance];
  }
  return best;
}

function distanceToCut(windows: readonly WordWindow[], at: number, word: number): number {
  const window = windows[at];
  if (window === undefined || word < window.from || word >= window.to) return -1;
  const before = at === 0 ? Number.POSITIVE_INFINITY : word - window.from;
  const behind = at === windows.length - 1 ? Number.POSITIVE_INFINITY : window.to - 1 - word;
  return Math.min(before, behind);
}

/** Log-probabilities of a window's words, by the first piece of each. */
function rowsOf(
  { session, facts }: Network,
  { document, signs }: Scored,
  ids: readonly (readonly number[])[],
  window: WordWindow,
): Float32Array {
  const pieces = [CLS_PIECE];
  const firsts: number[] = [];
  const words: number[] = [-1];
  for (let word = window.from; word < window.to; word += 1) {
    firsts.push(pieces.length);
    for (const id of ids[word] ?? []) {
      pieces.push(id);
      words.push(word);
    }
  }
  pieces.push(SEP_PIECE);
  words.push(-1);
  const ofPieces = new Float32Array(pieces.length * facts.signs);
  words.forEach((word, at) => {
    if (word >= 0)
      ofPieces.set(signs.subarray(word * facts.signs, (word + 1) * facts.signs), at * facts.signs);
  });
  const length = pieces.length;
  const logits = session.run([
    { name: 'input_ids', data: BigInt64Array.from(pieces, BigInt), shape: [1, length] },
    { name: 'signs', data: ofPieces, shape: [1, length, facts.signs] },
  ]);
  const all = facts.labels.cv.length + facts.labels.posting.length;
  if (logits.length !== length * all) throw new Error(`the network has not ${all} labels`);
  const columns = facts.labels[document].length;
  const first = document === 'cv' ? 0 : facts.labels.cv.length;
  const rows = new Float32Array(firsts.length * columns);
  firsts.forEach((piece, at) => {
    const from = piece * all + first;
    rows.set(logProbabilities(logits.subarray(from, from + columns)), at * columns);
  });
  return rows;
}

function logProbabilities(logits: Float32Array): Float32Array {
  const most = Math.max(...logits);
  let sum = 0;
  for (const logit of logits) sum += Math.exp(logit - most);
  return logits.map((logit) => logit - most - Math.log(sum));
}
