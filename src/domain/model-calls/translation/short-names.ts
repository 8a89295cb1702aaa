/** The limit of OpenAI and most compatible servers for the name of a function. Anthropic and MCP allow twice as many. */
const MOST_NAME_CHARACTERS = 64;

/** Tool names that a target accepts, and their mapping back to the client's names. */
export interface ShortNames {
  /** The name itself if it is short enough and not taken. Returns the same result for the same name. */
  shortOf(name: string): string;
  /** An unknown name is returned unchanged: models invent names. */
  nameOf(short: string): string;
}

export function createShortNames(): ShortNames {
  const shorts = new Map<string, string>();
  const names = new Map<string, string>();
  return {
    shortOf(name) {
      const known = shorts.get(name);
      if (known !== undefined) return known;
      const short = freeName(name, names);
      shorts.set(name, short);
      names.set(short, name);
      return short;
    },
    nameOf: (short) => names.get(short) ?? short,
  };
}

/** The name, shortened if it is too long, and numbered if it is taken. */
export function freeName(preferred: string, taken: { has(name: string): boolean }): string {
  const short = preferred.length <= MOST_NAME_CHARACTERS ? preferred : shortened(preferred);
  let name = short;
  for (let next = 2; taken.has(name); next += 1) name = `${short.slice(0, MOST_NAME_CHARACTERS - 6)}_${next}`;
  return name;
}

/**
 * Replaces the end with a checksum, so that two long names stay distinct, and a name is shortened in the same way in
 * every call of a conversation: providers cache prompts by their beginning.
 */
function shortened(name: string): string {
  let sum = 0x811c9dc5;
  for (let at = 0; at < name.length; at += 1) sum = Math.imul(sum ^ name.charCodeAt(at), 0x01000193);
  return `${name.slice(0, MOST_NAME_CHARACTERS - 9)}_${(sum >>> 0).toString(16).padStart(8, '0')}`;
}
