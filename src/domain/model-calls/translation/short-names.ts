/** What OpenAI and most compatible servers allow for the name of a function. Anthropic and MCP allow twice as many. */
const MOST_NAME_CHARACTERS = 64;

/** Names of tools that a target can take, and the way back to those of the client. */
export interface ShortNames {
  /** The name itself where it is short enough and free; the same for the same name. */
  shortOf(name: string): string;
  /** A name that was never given is itself: models make names up. */
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

/** The name, shortened where it is too long, and with a number where that is taken. */
export function freeName(wanted: string, taken: { has(name: string): boolean }): string {
  const short = wanted.length <= MOST_NAME_CHARACTERS ? wanted : shortened(wanted);
  let name = short;
  for (let next = 2; taken.has(name); next += 1) name = `${short.slice(0, MOST_NAME_CHARACTERS - 6)}_${next}`;
  return name;
}

/**
 * With a checksum in the place of what is cut off, so that two long names do not become one, and a name is shortened in
 * the same way by every call of a conversation: providers cache prompts by their beginning.
 */
function shortened(name: string): string {
  let sum = 0x811c9dc5;
  for (let at = 0; at < name.length; at += 1) sum = Math.imul(sum ^ name.charCodeAt(at), 0x01000193);
  return `${name.slice(0, MOST_NAME_CHARACTERS - 9)}_${(sum >>> 0).toString(16).padStart(8, '0')}`;
}
