import type { TaggerWeights } from './decode.ts';
import { LABEL_COUNT } from './labels.ts';
import stored from './weights.json' with { type: 'json' };

/**
 * The weights as quality/train.ts wrote them: hashes of features in order, then a row of signed bytes for each. They
 * are looked up in an open table twice their number, because a look-up is made some sixty times a token.
 */
export function readWeights(): TaggerWeights {
  const binary = atob(stored.rows);
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const count = stored.features;
  const weights = new Float32Array(count * LABEL_COUNT);
  for (let at = 0; at < weights.length; at++) weights[at] = view.getInt8(count * 4 + at) * stored.scale;
  let size = 1;
  while (size < count * 3) size *= 2;
  const keys = new Int32Array(size).fill(-1);
  const rows = new Int32Array(size);
  for (let at = 0; at < count; at++) {
    const feature = view.getUint32(at * 4);
    let slot = feature & (size - 1);
    while (keys[slot] !== -1) slot = (slot + 1) & (size - 1);
    keys[slot] = feature;
    rows[slot] = at * LABEL_COUNT;
  }
  return {
    weights,
    steps: stored.steps,
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
