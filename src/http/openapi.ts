import { z } from 'zod';

/** A route as documented. The schemas are those with which the route itself reads and answers. */
export interface DescribedRoute {
  readonly method: 'get' | 'post' | 'delete';
  /** For example `/api/meetings/{id}/transcript`. */
  readonly path: string;
  readonly summary: string;
  readonly needsToken: boolean;
  readonly query?: z.ZodObject;
  /** Headers that the route reads, besides the token. */
  readonly headers?: z.ZodObject;
  readonly body?: { readonly schema: z.ZodType; readonly example: unknown };
  readonly answers: readonly DescribedAnswer[];
}

export interface DescribedAnswer {
  readonly status: number;
  readonly means: string;
  /** The schema of a JSON answer; omitted if the answer is not JSON. */
  readonly schema?: z.ZodType;
  readonly contentType?: string;
  readonly example?: unknown;
  /** By name, if the answer has several forms. */
  readonly examples?: Readonly<Record<string, unknown>>;
}

interface DescribedService {
  readonly title: string;
  readonly description: string;
  /** The description of the bearer token. */
  readonly token: string;
  readonly routes: readonly DescribedRoute[];
}

type Json = Record<string, unknown>;

/** The files of the interactive page, from this package's own folder: nothing is loaded from the internet. */
export interface DocsFiles {
  readonly style: Blob;
  readonly script: Blob;
}

interface DocsParts {
  readonly title: string;
  readonly document: Readonly<Record<string, unknown>>;
  readonly files: DocsFiles;
}

/** The common format of errors. */
export const errorAnswer = z.strictObject({
  error: z.strictObject({
    message: z.string(),
    type: z.string(),
    code: z.string().nullable(),
    param: z.string().nullable(),
  }),
});

/** OpenAPI 3.1, whose schemas are plain JSON Schema. */
export function openApiDocument({ title, description, token, routes }: DescribedService): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method]: operationOf(route) };
  }
  return {
    openapi: '3.1.0',
    info: { title, description, version: '1' },
    servers: [{ url: '/' }],
    paths,
    components: {
      schemas: { Error: schemaOf(errorAnswer, 'output') },
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: token } },
    },
  };
}

/** The page sets inline styles on its elements; scripts are loaded only from here. */
const DOCS_CONTENT_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const DOCS_SCRIPT = `SwaggerUIBundle({ url: '/openapi.json', dom_id: '#docs', deepLinking: true, validatorUrl: null });\n`;

/** All paths of the documentation. */
export const DOCS_PATHS = [
  '/docs',
  '/docs/style.css',
  '/docs/swagger-ui.js',
  '/docs/start.js',
  '/openapi.json',
] as const;

/** Returns null for all other paths. */
export function createDocs({ title, document, files }: DocsParts): (path: string) => Response | null {
  const json = JSON.stringify(document);
  const page = pageOf(title);
  const answer = (body: string | Blob, type: string) =>
    new Response(body, {
      headers: {
        'content-type': `${type}; charset=utf-8`,
        'content-security-policy': DOCS_CONTENT_POLICY,
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
        return answer(DOCS_SCRIPT, 'text/javascript');
      case '/openapi.json':
        return answer(json, 'application/json');
      default:
        return null;
    }
  };
}

function operationOf(route: DescribedRoute): Json {
  const { method, path, summary, needsToken, query, headers, body, answers } = route;
  const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => {
    return { name, in: 'path', required: true, schema: { type: 'string' } };
  });
  const parameters = (place: 'query' | 'header', described: z.ZodObject | undefined) =>
    Object.entries(described?.shape ?? {}).map(([name, schema]) => {
      const required = !(schema as z.ZodType).safeParse(undefined).success;
      return { name, in: place, required, schema: schemaOf(schema as z.ZodType, 'input') };
    });
  return {
    operationId: `${method} ${path}`.replace(/[^A-Za-z0-9]+/g, '_'),
    summary,
    ...(needsToken ? { security: [{ token: [] }] } : {}),
    parameters: [...named, ...parameters('query', query), ...parameters('header', headers)],
    ...(body === undefined ? {} : { requestBody: { required: true, content: contentOf(body, 'input') } }),
    responses: Object.fromEntries(
      (needsToken ? [...answers, UNKNOWN_CALLER] : answers).map((answer) => [
        String(answer.status),
        { description: answer.means, content: contentOfAnswer(answer) },
      ]),
    ),
  };
}

const UNKNOWN_CALLER: DescribedAnswer = {
  status: 401,
  means: 'The token is missing or invalid.',
  schema: errorAnswer,
};

function contentOfAnswer({ schema, contentType, example, examples }: DescribedAnswer): Json {
  if (schema === undefined) return { [contentType ?? 'text/plain']: { schema: { type: 'string' } } };
  if (schema === errorAnswer) {
    return { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };
  }
  return contentOf({ schema, example, examples }, 'output');
}

function contentOf(
  {
    schema,
    example,
    examples = {},
  }: { schema: z.ZodType; example?: unknown; examples?: DescribedAnswer['examples'] | undefined },
  io: 'input' | 'output',
): Json {
  const named = Object.entries(examples).map(([name, value]) => [name, { value }]);
  return {
    'application/json': {
      schema: schemaOf(schema, io),
      ...(example === undefined ? {} : { example }),
      ...(named.length === 0 ? {} : { examples: Object.fromEntries(named) }),
    },
  };
}

/** Without the `$schema` member. Types that JSON Schema cannot represent accept any value. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
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
