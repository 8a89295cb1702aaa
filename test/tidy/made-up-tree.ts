import type { Finding, Tree } from './tree.ts';

/** A small tree to show a rule at work: paths and what is in them. */
export function treeOf(files: Record<string, string>): Tree {
  return Object.entries(files).map(([path, text]) => ({ path, text }));
}

/** `path:line` of each finding. */
export function places(findings: readonly Finding[]): string[] {
  return findings.map(({ path, line }) => `${path}:${line}`);
}
