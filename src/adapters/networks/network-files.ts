import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createWordPieces, type WordPieces } from './word-pieces.ts';

/** Weights are files of the repository: models/README.md says where they come from. */
const MODELS = fileURLToPath(new URL('../../../models/', import.meta.url));

export const ENCODER = {
  file: `${MODELS}bge-small-en-v1.5/model.onnx`,
  dimensions: 384,
  /** Raised with every change of weights, windows or pooling: stored vectors are then computed anew. */
  version: 'bge-small-en-v1.5-int8-1',
} as const;

/** Of the network beside the linear taggers (decisions/0069). */
export const TAGGER_FOLDER = `${MODELS}tagger`;

let pieces: WordPieces | null = null;

/** One vocabulary for all networks of this folder; read once for each thread, in some 15 ms. */
export function readWordPieces(): WordPieces {
  pieces ??= createWordPieces(readFileSync(`${MODELS}bert-uncased-vocabulary.txt`, 'utf8'));
  return pieces;
}
