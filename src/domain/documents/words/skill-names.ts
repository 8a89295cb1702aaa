import { createPhraseBook, type PhraseBook } from '../text/phrases.ts';
import skills from './skills.json' with { type: 'json' };

export interface KnownSkill {
  /** The one name that all its spellings stand for. */
  readonly canonical: string;
  /** The family it belongs to, which makes two skills near each other. */
  readonly family: string;
  /**
   * How far its spelling can be trusted: `plain` anywhere; `capital` only with a capital letter, or among other
   * skills (Excel, Swift); `listed` only among other skills or under a heading for them (C, R, Word).
   */
  readonly trust: 'plain' | 'capital' | 'listed';
}

/** `Canonical=spelling|spelling`; `!` behind a spelling means `capital`, `!!` means `listed`. */
function* entriesOf(): Generator<readonly [string, KnownSkill]> {
  for (const [family, lines] of Object.entries(skills)) {
    for (const entry of lines.flatMap((line) => line.split('; '))) {
      const [name = '', others = ''] = entry.split('=');
      const canonical = name.replace(/!+$/, '');
      for (const spelling of [name, ...others.split('|')]) {
        if (spelling === '') continue;
        const trust = spelling.endsWith('!!') ? 'listed' : spelling.endsWith('!') ? 'capital' : 'plain';
        yield [spelling.replace(/!+$/, ''), { canonical, family, trust }];
      }
    }
  }
}

export const skillBook: PhraseBook<KnownSkill> = createPhraseBook(entriesOf());

/** `ReactJS` is `React`; null for what the list does not have. */
export function canonicalSkill(name: string): string | null {
  return skillBook.of(name)?.canonical ?? null;
}

export function skillFamily(name: string): string | null {
  return skillBook.of(name)?.family ?? null;
}
