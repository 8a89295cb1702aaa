/** A target as somebody wants it: by command, by MODEL_CONFIG, by the console. */
export interface WantedTarget {
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey: string | null;
  readonly weight: number;
}

export const MOST_TARGETS = 32;
export const TOO_MANY_TARGETS = `an alias has at most ${MOST_TARGETS} targets`;
const LONGEST_URL = 2_000;
const LONGEST_MODEL = 200;
const LONGEST_KEY = 4_096;
const GREATEST_WEIGHT = 1_000_000;

export type CheckedTargets =
  | { readonly outcome: 'fine'; readonly targets: readonly WantedTarget[] }
  /** What is wrong and with which target, without a value that could be a key. */
  | { readonly outcome: 'wrong'; readonly problem: string };

/** Addresses come back in one form, without a slash at their end: `/chat/completions` follows. */
export function checkTargets(wanted: readonly WantedTarget[]): CheckedTargets {
  if (wanted.length > MOST_TARGETS) return { outcome: 'wrong', problem: TOO_MANY_TARGETS };
  const targets: WantedTarget[] = [];
  for (const [at, target] of wanted.entries()) {
    const baseUrl = plainAddress(target.baseUrl);
    const problem = baseUrl === null ? BAD_ADDRESS : problemWith(target);
    if (baseUrl === null || problem !== null) {
      return { outcome: 'wrong', problem: `target ${at + 1}: ${problem}` };
    }
    targets.push({ ...target, baseUrl });
  }
  return { outcome: 'fine', targets };
}

const BAD_ADDRESS =
  'its address must begin with http:// or https:// and have no user name, no password, no ? and no #';

/**
 * A password in an address would reach logs, and after a ? or # no path could be added. Fails closed: what is not
 * surely an address is none.
 */
function plainAddress(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return null;
  if (url.hostname === '' || url.username !== '' || url.password !== '' || /[?#]/.test(text)) return null;
  const plain = url.href.replace(/\/+$/, '');
  return plain.length <= LONGEST_URL ? plain : null;
}

function problemWith({ model, apiKey, weight }: WantedTarget): string | null {
  if (model.trim() === '' || model.length > LONGEST_MODEL) {
    return `its model must have 1 to ${LONGEST_MODEL} characters`;
  }
  // A header takes nothing else, and a line break at a key's end is the usual accident with files.
  if (apiKey !== null && (apiKey.length > LONGEST_KEY || !/^[\x21-\x7e]+$/.test(apiKey))) {
    return `its key must be 1 to ${LONGEST_KEY} visible ASCII characters`;
  }
  if (!(weight > 0 && weight <= GREATEST_WEIGHT)) {
    return `its weight must be above 0 and at most ${GREATEST_WEIGHT}`;
  }
  return null;
}
