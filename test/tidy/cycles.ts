import { findImports } from './imports.ts';
import { isProductCode } from './sizes.ts';
import type { Finding, Tree } from './tree.ts';

/**
 * Rule 11: no import cycle in product code. Type imports count: a type that two files need from each other belongs in
 * one of them, or in a third file that both import.
 */
export function checkCycles(tree: Tree): Finding[] {
  const files = tree.filter(isProductCode);
  const known = new Set(files.map(({ path }) => path));
  const imports = new Map(
    files.map((file) => [
      file.path,
      new Set(
        findImports(file).flatMap(({ target, kind }) =>
          kind === 'imported' && target !== null && target !== file.path && known.has(target) ? [target] : [],
        ),
      ),
    ]),
  );
  return stronglyConnected(imports)
    .filter((component) => component.length > 1)
    .map((component) => {
      const cycle = shortestCycle(component, imports);
      const problem = `import cycle: ${[...cycle, cycle[0]].join(' -> ')}`;
      return { path: cycle[0] ?? '', line: 1, problem };
    });
}

type Graph = ReadonlyMap<string, ReadonlySet<string>>;

/** Tarjan's algorithm: groups of files that reach each other. */
function stronglyConnected(graph: Graph): string[][] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const components: string[][] = [];
  function visit(path: string): void {
    const own = order.size;
    order.set(path, own);
    lowest.set(path, own);
    stack.push(path);
    for (const next of graph.get(path) ?? []) {
      if (!order.has(next)) visit(next);
      if (stack.includes(next)) {
        lowest.set(path, Math.min(lowest.get(path) ?? own, lowest.get(next) ?? own));
      }
    }
    if (lowest.get(path) === own) components.push(stack.splice(stack.indexOf(path)));
  }
  for (const path of graph.keys()) if (!order.has(path)) visit(path);
  return components;
}

/** Breadth first from each file of the group, so that the message names no more files than it needs. */
function shortestCycle(component: readonly string[], graph: Graph): string[] {
  const members = new Set(component);
  const cycles = [...component].sort().map((start) => {
    const previous = new Map<string, string>();
    const queue = [start];
    for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
      for (const next of graph.get(path) ?? []) {
        if (next === start) return pathTo(path, previous);
        if (!members.has(next) || previous.has(next)) continue;
        previous.set(next, path);
        queue.push(next);
      }
    }
    return [...component];
  });
  return cycles.reduce((best, one) => (one.length < best.length ? one : best));
}

function pathTo(last: string, previous: ReadonlyMap<string, string>): string[] {
  const path = [last];
  for (let at = previous.get(last); at !== undefined; at = previous.get(at)) path.unshift(at);
  return path;
}
