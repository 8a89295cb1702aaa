import cvWeights from './cv-weights.json' with { type: 'json' };
import {
  CV_KINDS,
  labelCount,
  type MentionKind,
  POSTING_KINDS,
  type PostingKind,
  type TaggerWeights,
} from './decode.ts';
import type { FeatureReach } from './features.ts';
import postingWeights from './posting-weights.json' with { type: 'json' };

/** Weights as written by quality/train.ts: sorted hashes of features, then a row of signed bytes for each. */
interface StoredWeights {
  readonly features: number;
  readonly scale: number;
  readonly steps: readonly number[];
  readonly rows: string;
}

export interface EngineWeights {
  readonly cv: TaggerWeights<MentionKind>;
  readonly posting: TaggerWeights<PostingKind>;
}

export function readWeights(): EngineWeights {
  return {
    cv: weightsOf(cvWeights, CV_KINDS, 'document'),
    posting: weightsOf(postingWeights, POSTING_KINDS, 'line'),
  };
}

/**
 * Rows are looked up in an open-addressing table at least 2.5 times their number, because each token needs about ninety
 * lookups.
 */
function weightsOf<Kind extends string>(
  stored: StoredWeights,
  kinds: readonly Kind[],
  reach: FeatureReach,
): TaggerWeights<Kind> {
  const labels = labelCount(kinds);
  const binary = atob(stored.rows);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = binary.charCodeAt(at);
  const view = new DataView(bytes.buffer);
  const count = stored.features;
  const weights = new Int8Array(bytes.buffer, count * 4, count * labels);
  let size = 1;
  while (size < count * 2.5) size *= 2;
  const keys = new Int32Array(size).fill(-1);
  const rows = new Int32Array(size);
  for (let at = 0; at < count; at++) {
    const feature = view.getUint32(at * 4);
    let slot = feature & (size - 1);
    while (keys[slot] !== -1) slot = (slot + 1) & (size - 1);
    keys[slot] = feature;
    rows[slot] = at * labels;
  }
  return {
    kinds,
    reach,
    weights,
    scale: stored.scale,
    steps: { labels, weights: Float32Array.from(stored.steps) },
    rowOf: (feature) => {
      let slot = feature & (size - 1);
      for (let key = keys[slot]; key !== -1; key = keys[slot]) {
        if (key === feature) return rows[slot] ?? -1;
        slot = (slot + 1) & (size - 1);
      }
      return -1;
    },
  };
}
