/** FNV-1a, so that training and reading agree without a table of names. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/** One feature: what is asked (the template) and what the answer is, in 31 bits. */
export function mixed(template: number, value: number): number {
  let hash = Math.imul(template + 0x9e3779b9, 0x85ebca6b) ^ value;
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39);
  return (hash ^ (hash >>> 15)) >>> 1;
}

/** The last `count` characters, hashed without a new string; words that share an ending share what they are. */
export function endingOf(text: string, count: number): number {
  let hash = 0x811c9dc5;
  for (let at = Math.max(0, text.length - count); at < text.length; at++)
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

export function beginningOf(text: string, count: number): number {
  let hash = 0x811c9dc5;
  const end = Math.min(text.length, count);
  for (let at = 0; at < end; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
