import { emailKey } from './email.ts';

/**
 * Which passwords are refused. Everything that guessing programs try first is removed from a password: the user's own
 * address, common words, runs of the alphabet and the keyboard, repetitions, short numbers. Enough characters must
 * remain. The words are our own selection of what leads every published list of leaked passwords, so that no
 * third-party list is shipped; spellings (`P@ssw0rd2026!`) are covered by rules, not by more words.
 */
const PASSWORD_MIN_LENGTH = 10;
/** argon2id takes any length; the bound prevents a login from costing as much as a thousand. */
export const PASSWORD_MAX_LENGTH = 512;
const LEAST_DIFFERENT = 5;
const LEAST_LEFT_OVER = 4;
const SHORTEST_PART = 3;
/** Runs of three letters are in many words: first, hijack. */
const SHORTEST_RUN = 4;
/** A longer password is long enough; checking all of it would only cost time. */
const LONGEST_COVERED = 64;

/** What is wrong with a password, as a message for the user; null if it is accepted. */
export function passwordProblem(password: string, email: string | null): string | null {
  if (password.length < PASSWORD_MIN_LENGTH) {
    return `a password has at least ${PASSWORD_MIN_LENGTH} characters`;
  }
  if (password.length > PASSWORD_MAX_LENGTH) {
    return `a password has at most ${PASSWORD_MAX_LENGTH} characters`;
  }
  const folded = password.normalize('NFKC').toLowerCase();
  if (new Set(folded).size < LEAST_DIFFERENT) {
    return `this password repeats few characters: use at least ${LEAST_DIFFERENT} different ones`;
  }
  if (folded.length > LONGEST_COVERED) return null;
  const parts = [...ownParts(email), ...COMMON];
  const isLeft = [folded, readable(folded)].every((text) => leftOver(text, parts) >= LEAST_LEFT_OVER);
  if (isLeft) return null;
  return 'this password is easy to guess: it is little more than common words, sequences or your e-mail address. Use several unrelated words';
}

/** The local part, as a whole and in its words, and the labels of the domain without the last. */
function ownParts(email: string | null): string[] {
  if (email === null) return [];
  const [local = '', domain = ''] = emailKey(email).split('@');
  const words = [local, ...local.split(/[^\p{L}\p{N}]+/u), ...domain.split('.').slice(0, -1)];
  return words.filter((word) => word.length >= SHORTEST_PART);
}

/** Replaces digits and signs that stand for letters. */
function readable(text: string): string {
  return text.replaceAll(/[@4310$57!|8]/g, (sign) => LETTERS[sign] ?? sign);
}

const LETTERS: Readonly<Record<string, string>> = {
  ...{ '@': 'a', '4': 'a', '3': 'e', '1': 'i', '0': 'o' },
  ...{ $: 's', '5': 's', '7': 't', '!': 'i', '|': 'l', '8': 'b' },
};

/** How many letters and digits no known part covers. Longer parts first; covered characters are not used again. */
function leftOver(text: string, parts: readonly string[]): number {
  let rest = text;
  for (const part of [...parts].sort((one, other) => other.length - one.length)) {
    rest = rest.replaceAll(part, ' ');
  }
  rest = withoutRuns(rest);
  // Repeated groups of letters, then numbers as short as a year.
  rest = rest.replaceAll(/(.{1,5}?)\1{2,}/gu, ' ').replaceAll(/(?<!\d)\d{1,4}(?!\d)/g, ' ');
  return [...rest].filter((letter) => /[\p{L}\p{N}]/u.test(letter)).length;
}

/** Removes runs of the alphabet, the digits and the keyboard, forwards and backwards. */
function withoutRuns(text: string): string {
  let rest = '';
  for (let at = 0; at < text.length; ) {
    const length = runAt(text, at);
    rest += length > 0 ? ' ' : text[at];
    at += Math.max(1, length);
  }
  return rest;
}

/** The length of the longest run that begins here; 0 for none. */
function runAt(text: string, at: number): number {
  let longest = 0;
  for (const run of RUNS) {
    let length = SHORTEST_RUN;
    while (at + length <= text.length && run.includes(text.slice(at, at + length))) length += 1;
    if (length > SHORTEST_RUN) longest = Math.max(longest, length - 1);
  }
  return longest;
}

const FORWARDS = [
  ...['abcdefghijklmnopqrstuvwxyz', '01234567890', 'qwertyuiop[]', 'asdfghjkl;', 'zxcvbnm,./'],
  ...['qwertzuiopü', 'yxcvbnm,.-', 'azertyuiop', 'qsdfghjklm', 'wxcvbn', '!@#$%^&*()'],
  ...['1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol', 'qazwsxedcrfvtgbyhnujmikolp', '1q2w3e4r5t6y7u8i9o0p'],
  ...['q1w2e3r4t5y6u7i8o9p0', 'zaq12wsxcde34rfvbgt56yhn', 'a1b2c3d4e5f6g7h8i9j0', '147258369', '159753'],
];
const RUNS = FORWARDS.flatMap((run) => [run, [...run].reverse().join('')]);

const COMMON = (
  'password passwort passwd passcode motdepasse contrasena senha parola wachtwoord kennwort pass word ' +
  'letmein welcome willkommen bienvenue admin administrator root user username guest login logon access secret geheim ' +
  'changeme default temp temporary test tester testing demo example sample system server master manager superuser ' +
  'iloveyou loveyou love lovely lover forever together baby babygirl babyboy sweet sweetheart honey angel princess ' +
  'prince queen king daddy mommy mother father family brother sister friend friends friendship bestfriend ' +
  'monkey dragon tiger lion eagle falcon panther wolf bear horse dolphin butterfly chicken kitty kitten puppy doggie ' +
  'football baseball basketball soccer hockey tennis cricket softball volleyball golf liverpool chelsea arsenal ' +
  'manchester barcelona realmadrid juventus cowboys yankees lakers steelers ' +
  'superman batman spiderman ironman wonderwoman starwars startrek pokemon naruto harrypotter matrix gandalf skywalker ' +
  'sunshine flower flowers summer winter spring autumn rainbow star moon sunny snoopy cookie chocolate cheese banana ' +
  'apple orange cherry pepper ginger coffee pizza ' +
  'shadow hunter killer ranger warrior knight phantom ninja samurai pirate hacker ghost zombie vampire ' +
  'computer internet google facebook microsoft windows samsung iphone android apple yahoo hotmail gmail linkedin twitter ' +
  'michael jordan jennifer jessica ashley nicole daniel andrew joshua matthew charlie thomas robert george michelle ' +
  'amanda anthony william christopher alexander elizabeth samantha benjamin patrick hannah maggie buster ' +
  'freedom whatever trustno nothing blink money dollar rich lucky success victory power blessed jesus christ god heaven ' +
  'hello goodbye hallo bonjour hola abc qwerty qwertz azerty asdf zxcvbn xxx fuck fuckyou shit ' +
  'january february march april june july august september october november december ' +
  'monday tuesday wednesday thursday friday saturday sunday ' +
  'mustang ferrari porsche mercedes yamaha harley corvette metallica nirvana slipknot london paris berlin america canada ' +
  'australia germany england france mexico turnpike company office business'
)
  .split(' ')
  .filter((word) => word.length >= SHORTEST_PART);
