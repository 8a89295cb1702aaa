import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { DocsFiles } from '../http/docs-page.ts';

/** Opened when somebody reads the page, and not before. */
export function docsFiles(): DocsFiles {
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  return {
    style: Bun.file(join(folder, 'swagger-ui.css')),
    script: Bun.file(join(folder, 'swagger-ui-bundle.js')),
  };
}
