import { findImports } from './imports.ts';
import { isProductCode } from './sizes.ts';
import type { Finding, Tree } from './tree.ts';

/**
 * Rule 11: no import cycle in product code. Type imports count: a type that two files need from each other belongs in
 * one of them, or in a third file that both import.
 */
export function checkCycles(tree: Tree): Finding[] {
  const imports = new Map(
    tree
      .filter(isProductCode)
      .map((file) => [
        file.path,
        findImports(file).flatMap(({ target, kind }) => (kind === 'imported' ? (target ?? []) : [])),
      ]),
  );
  const findings: Finding[] = [];
  const done = new Set<string>();
  function visit(path: string, way: readonly string[]): void {
    const at = way.indexOf(path);
    if (at !== -1) {
      const problem = `import cycle: ${[...way.slice(at), path].join(' -> ')}`;
      findings.push({ path, line: 1, problem });
    }
    if (at !== -1 || done.has(path)) return;
    for (const next of imports.get(path) ?? []) if (next !== path) visit(next, [...way, path]);
    done.add(path);
  }
  for (const path of imports.keys()) visit(path, []);
  return findings;
}
