import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createWordPieces, type WordPieces } from './word-pieces.ts';

/** The weights are files of the repository; models/README.md documents their origin. */
const MODELS = fileURLToPath(new URL('../../../models/', import.meta.url));

export const ENCODER = {
  file: `${MODELS}bge-small-en-v1.5/model.onnx`,
  dimensions: 384,
  /** Changed with every change of weights, windows or pooling, so that stored vectors are recomputed. */
  version: 'bge-small-en-v1.5-int8-1',
} as const;

/** The folder of the network that complements the linear taggers (decisions/0069). */
export const TAGGER_FOLDER = `${MODELS}tagger`;

let pieces: WordPieces | null = null;

/** One vocabulary for all networks in this folder, read once per thread in about 15 ms. */
export function readWordPieces(): WordPieces {
  pieces ??= createWordPieces(readFileSync(`${MODELS}bert-uncased-vocabulary.txt`, 'utf8'));
  return pieces;
}
