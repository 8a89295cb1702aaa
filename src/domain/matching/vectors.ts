/**
 * A unit vector in whole numbers of one byte: 512 bytes instead of 2 KB, and the same number on every machine. The
 * cosine of two of them is off by less than 0.005, which is far less than the model's own noise.
 */
export interface StoredVector {
  /** Vectors of different models have nothing to say about each other. */
  readonly model: string;
  readonly values: Int8Array;
}

const SCALE = 127;
export const LONGEST_VECTOR = 4_096;

/** Null for what is no direction: nothing, zeros, or something that is no number. */
export function storedVector(model: string, numbers: readonly number[]): StoredVector | null {
  if (numbers.length === 0 || numbers.length > LONGEST_VECTOR) return null;
  let square = 0;
  for (const number of numbers) square += number * number;
  const length = Math.sqrt(square);
  if (!Number.isFinite(length) || length === 0) return null;
  return { model, values: Int8Array.from(numbers, (number) => Math.round((number / length) * SCALE)) };
}

/** -1 to 1; null where they cannot be compared. */
export function cosine(one: StoredVector, other: StoredVector): number | null {
  if (one.model !== other.model || one.values.length !== other.values.length) return null;
  return dot(one.values, other.values) / (SCALE * SCALE);
}

function dot(one: Int8Array, other: Int8Array): number {
  let sum = 0;
  for (let at = 0; at < one.length; at += 1) sum += (one[at] as number) * (other[at] as number);
  return sum;
}

/** As it goes into the database. */
export function vectorBytes(vector: StoredVector): Uint8Array {
  return new Uint8Array(vector.values.buffer, vector.values.byteOffset, vector.values.byteLength);
}

export function vectorFrom(model: string | null, bytes: Uint8Array | null): StoredVector | null {
  if (model === null || bytes === null) return null;
  return { model, values: new Int8Array(bytes.slice().buffer) };
}
