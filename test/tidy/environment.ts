import { scan } from './scan.ts';
import { type Finding, isCode, isTestCode, lineAt, type Tree } from './tree.ts';

const reader = 'src/start/settings/configuration.ts';

const readings = [
  /\b(?:process|Bun|import\.meta)\s*\??\.\s*env\b/g,
  /\{[^{}]*\benv\b[^{}]*\}\s*=\s*(?:process|Bun|import\.meta)\b/g,
];
const importedEnvironment =
  /\bimport\s*\{[^{}]*\benv\b[^{}]*\}\s*from\s*['"](?:node:process|process|bun)['"]/g;

/** Rule 5: one file reads the environment, so that one file can name all that is wrong with it. */
export function checkEnvironment(tree: Tree): Finding[] {
  return tree.flatMap(({ path, text }) => {
    if (!isCode(path) || isTestCode(path) || path.startsWith('bin/') || path === reader) return [];
    const { bare, code } = scan(text);
    const found = [
      ...readings.flatMap((pattern) => [...bare.matchAll(pattern)]),
      ...code.matchAll(importedEnvironment),
    ];
    return found.map((match) => ({
      path,
      line: lineAt(text, match.index),
      problem: `reads the environment: read it in ${reader} and hand the value over`,
    }));
  });
}
