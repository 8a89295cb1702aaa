import type { Measurement } from './measurement.ts';

type CommandLine =
  | { readonly kind: 'list' }
  | { readonly kind: 'wrong'; readonly problem: string }
  | { readonly kind: 'run'; readonly chosen: readonly Measurement[]; readonly jsonFile: string | null };

/** `[--json FILE] [NAME …]`, or `--list`. A name also means all that begin with it and a dash. */
export function readWords(words: readonly string[], all: readonly Measurement[]): CommandLine {
  const names: string[] = [];
  let jsonFile: string | null = null;
  const ahead = [...words];
  for (let word = ahead.shift(); word !== undefined; word = ahead.shift()) {
    if (word === '--list') return { kind: 'list' };
    if (word === '--json') {
      const file = ahead.shift();
      if (file === undefined) return { kind: 'wrong', problem: '--json needs a file: --json FILE' };
      jsonFile = file;
    } else if (word.startsWith('-')) {
      return { kind: 'wrong', problem: `${word} is unknown: there are --list, --json FILE, and names` };
    } else {
      names.push(word);
    }
  }
  const isMeant = (name: string, word: string) => name === word || name.startsWith(`${word}-`);
  const unknown = names.find((word) => !all.some(({ name }) => isMeant(name, word)));
  if (unknown !== undefined) {
    const known = all.map(({ name }) => name).join(', ');
    return { kind: 'wrong', problem: `there is no measurement "${unknown}", only ${known}` };
  }
  const chosen = all.filter(({ name }) => names.length === 0 || names.some((word) => isMeant(name, word)));
  return { kind: 'run', chosen, jsonFile };
}
