import { z } from 'zod';

/** A route as its document tells of it. The schemas are those that the route itself reads and answers with. */
export interface DescribedRoute {
  readonly method: 'get' | 'post';
  /** As `/api/meetings/{id}/transcript`. */
  readonly path: string;
  readonly summary: string;
  readonly needsToken: boolean;
  readonly query?: z.ZodObject;
  readonly body?: { readonly schema: z.ZodType; readonly example: unknown };
  readonly answers: readonly DescribedAnswer[];
}

export interface DescribedAnswer {
  readonly status: number;
  readonly means: string;
  /** JSON of this schema; left out where the answer is no JSON. */
  readonly schema?: z.ZodType;
  readonly contentType?: string;
  readonly example?: unknown;
}

export interface DescribedService {
  readonly title: string;
  readonly description: string;
  /** What the bearer token is. */
  readonly token: string;
  readonly routes: readonly DescribedRoute[];
}

type Json = Record<string, unknown>;

/** The one shape of a failure, on every surface. */
export const errorAnswer = z.strictObject({
  error: z.strictObject({
    message: z.string(),
    type: z.string(),
    code: z.string().nullable(),
    param: z.string().nullable(),
  }),
});

/** OpenAPI 3.1, whose schemas are JSON Schema as it is. */
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

function operationOf({ method, path, summary, needsToken, query, body, answers }: DescribedRoute): Json {
  const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => {
    return { name, in: 'path', required: true, schema: { type: 'string' } };
  });
  const asked = Object.entries(query?.shape ?? {}).map(([name, schema]) => {
    const required = !(schema as z.ZodType).safeParse(undefined).success;
    return { name, in: 'query', required, schema: schemaOf(schema as z.ZodType, 'input') };
  });
  return {
    operationId: `${method} ${path}`.replace(/[^A-Za-z0-9]+/g, '_'),
    summary,
    ...(needsToken ? { security: [{ token: [] }] } : {}),
    parameters: [...named, ...asked],
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
  means: 'Without the token, or with a wrong one.',
  schema: errorAnswer,
};

function contentOfAnswer({ schema, contentType, example }: DescribedAnswer): Json {
  if (schema === undefined) return { [contentType ?? 'text/plain']: { schema: { type: 'string' } } };
  if (schema === errorAnswer) {
    return { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };
  }
  return contentOf({ schema, example }, 'output');
}

function contentOf(
  { schema, example }: { schema: z.ZodType; example?: unknown },
  io: 'input' | 'output',
): Json {
  return {
    'application/json': { schema: schemaOf(schema, io), ...(example === undefined ? {} : { example }) },
  };
}

/** Members that are allowed but not told of stay out; a transformation is described by what it reads. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}
