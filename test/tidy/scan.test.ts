import { describe, expect, test } from 'bun:test';
import { findImports } from './imports.ts';
import { scan } from './scan.ts';
import { findFunctions } from './sizes.ts';

function specifiers(text: string): (string | null)[] {
  return findImports({ path: 'src/gateway/a.ts', text }).map((found) => found.specifier);
}

describe('the scanner', () => {
  test('keeps every place: both texts are as long as the original, with the same lines', () => {
    const text = `#!/usr/bin/env node\nconst a = 'x'; // y\n/* z\n z */ const b = \`q\${a + '}'}r\n\`;\n`;
    const { code, bare } = scan(text);
    for (const scanned of [code, bare]) {
      expect(scanned).toHaveLength(text.length);
      expect(scanned.split('\n')).toHaveLength(text.split('\n').length);
    }
    expect(code).not.toMatch(/[yz]/);
    expect(bare).not.toMatch(/[xqr]/);
    expect(bare).toContain('const b = ` ${a +');
  });

  test('tells comments from what looks like them in strings, templates and regular expressions', () => {
    expect(scan("const url = 'http://x'; after();").bare).toContain('after();');
    expect(scan('const url = `http://x/*`; after();').bare).toContain('after();');
    expect(scan('const slash = /[/*]"/.test(a); after();').bare).toContain('after();');
    expect(scan("const half = a / b; const c = 'x' / d; after();").bare).toContain('after();');
    expect(scan("const quote = '\\''; after();").bare).toContain('after();');
    expect(scan("<p>Don't</p>\nafter();").bare).toContain('after();');
    expect(scan('const deep = `$'.concat('{a.map((b) => `$', '{b}/*`)}`; after();')).bare).toContain(
      'after();',
    );
  });
});

describe('the import scanner', () => {
  test('finds every form', () => {
    const text = [
      "import 'effect';",
      "import a from 'default';",
      "import type { B } from 'type-only';",
      'import c, { type D, e as f } from "mixed";',
      "import * as g from 'namespace';",
      'import {',
      '  h, // not from here',
      '  i,',
      "} from 'several-lines';",
      "export { j } from 'named-export';",
      "export type { K } from 'type-export';",
      "export * from 'star-export';",
      "export * as l from 'star-as-export';",
      "const m = await import('dynamic');",
      'const n = await import(',
      "  /* a note */ 'dynamic-on-two-lines'",
      ');',
      "type O = import('in-a-type').O;",
      "const p = require('required');",
      "const q = new Worker(new URL('./thread.ts', import.meta.url).href);",
    ].join('\n');
    expect(specifiers(text)).toEqual([
      ...['effect', 'default', 'type-only', 'mixed', 'namespace', 'several-lines', 'named-export'],
      ...['type-export', 'star-export', 'star-as-export', 'dynamic', 'dynamic-on-two-lines'],
      ...['in-a-type', 'required', './thread.ts'],
    ]);
  });

  test('says line and target, and owns up to a path that it cannot read', () => {
    const text = "\nimport {\n  a,\n} from '../ports/clock.ts';\nconst b = import(name);\n";
    expect(findImports({ path: 'src/gateway/a.ts', text })).toEqual([
      { specifier: '../ports/clock.ts', target: 'src/ports/clock.ts', line: 2, kind: 'imported' },
      { specifier: null, target: null, line: 5, kind: 'imported' },
    ]);
  });
});

test('the measure sees functions, arrows, methods and callbacks, with signatures of several lines', () => {
  const measured = (text: string) =>
    findFunctions({ path: 'a.ts', text }).map((one) => `${one.name} ${one.lines}`);
  expect(measured('export async function one(a: string): Promise<void> {\n  a;\n}')).toEqual(['one 3']);
  expect(measured('function two(\n  a: string,\n): { b: string } {\n  a;\n}')).toEqual(['two 5']);
  expect(measured('const three = async (\n  a: string,\n) => {\n  a;\n};')).toEqual(['three 5']);
  expect(measured('class A {\n  #four<T>(a: T): void {\n    a;\n  }\n}')).toEqual(['#four 3']);
  expect(measured('const five = () => (\n  <p>\n  </p>\n);')).toEqual(['five 4']);
  expect(measured("test('six', () => {\n  a;\n});")).toEqual(["test('six', () => { 3"]);
});
