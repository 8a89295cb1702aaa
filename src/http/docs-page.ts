/** The files of the interactive page, from this package's own folder: nothing is asked of the internet. */
export interface DocsFiles {
  readonly style: Blob;
  readonly script: Blob;
}

export interface DocsParts {
  readonly title: string;
  readonly document: Readonly<Record<string, unknown>>;
  readonly files: DocsFiles;
}

/** The page sets styles of its own on its elements; scripts come from here alone. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const START = `SwaggerUIBundle({ url: '/openapi.json', dom_id: '#docs', deepLinking: true, validatorUrl: null });\n`;

/** Every address that the documentation is at. */
export const DOCS_PATHS = [
  '/docs',
  '/docs/style.css',
  '/docs/swagger-ui.js',
  '/docs/start.js',
  '/openapi.json',
] as const;

/** Null for every other path. */
export function createDocs({ title, document, files }: DocsParts): (path: string) => Response | null {
  const json = JSON.stringify(document);
  const page = pageOf(title);
  const answer = (body: string | Blob, type: string) =>
    new Response(body, {
      headers: {
        'content-type': `${type}; charset=utf-8`,
        'content-security-policy': POLICY,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': type === 'text/html' || type === 'application/json' ? 'no-cache' : 'max-age=3600',
      },
    });
  return (path) => {
    switch (path) {
      case '/docs':
        return answer(page, 'text/html');
      case '/docs/style.css':
        return answer(files.style, 'text/css');
      case '/docs/swagger-ui.js':
        return answer(files.script, 'text/javascript');
      case '/docs/start.js':
        return answer(START, 'text/javascript');
      case '/openapi.json':
        return answer(json, 'application/json');
      default:
        return null;
    }
  };
}

function pageOf(title: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/style.css">
</head>
<body>
<div id="docs"></div>
<noscript>The document itself is at <a href="/openapi.json">/openapi.json</a>.</noscript>
<script src="/docs/swagger-ui.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;
}
