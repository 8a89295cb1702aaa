import type { Finding, Tree } from './tree.ts';

const headings = ['## Owns', '## Does not own', '## Invariants'];

/** Rule 6: every capability says what it owns, what it does not, and what always holds. */
export function checkDomainReadmes(tree: Tree): Finding[] {
  const folders = new Set(tree.flatMap(({ path }) => /^src\/domain\/[^/]+(?=\/)/.exec(path)?.[0] ?? []));
  return [...folders].flatMap((folder) => {
    const path = `${folder}/README.md`;
    const readme = tree.find((file) => file.path === path);
    if (readme === undefined) {
      return [{ path, line: 1, problem: `is missing: write it, with ${headings.join(', ')}` }];
    }
    const lines = readme.text.split('\n').map((line) => line.trimEnd());
    const places = headings.map((heading) => lines.indexOf(heading));
    const isInOrder = places.every((place, at) => place > (places[at - 1] ?? -1));
    if (isInOrder) return [];
    return [{ path, line: 1, problem: `must have the headings ${headings.join(', ')}, in this order` }];
  });
}
