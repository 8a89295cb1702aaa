import type { Clock } from '../../ports/clock.ts';
import { createChatTool } from './chat-tool.ts';
import { GET_USAGE, LIST_JOBS, LIST_MODELS, PARSE_CV, PARSE_JD } from './tool-schemas.ts';
import { type Arguments, type GatewayTool, resultOf, succeeded } from './tool-server.ts';

/** All tools, in the order in which they are listed. */
export function createGatewayTools({ clock }: { readonly clock: Clock }): readonly GatewayTool[] {
  return [createChatTool({ clock }), listModels, getUsage, listJobs, parseCv, parseJd];
}

/** For tools that are free and change nothing: a repeated call returns the same, unless something happened meanwhile. */
const READS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

/** These tools store nothing, but each call is charged, so it should not be repeated needlessly. */
const PARSES = { readOnlyHint: true, destructiveHint: false, idempotentHint: false, openWorldHint: false };

const MODELS_ROUTE = { method: 'GET', path: '/models' } as const;
const USAGE_ROUTE = { method: 'GET', path: '/usage' } as const;
const JOBS_ROUTE = { method: 'GET', path: '/jobs' } as const;

const listModels: GatewayTool = {
  definition: {
    name: 'list_models',
    title: 'List models',
    description: 'Lists the aliases of the models that this key may call, for the argument model of chat.',
    annotations: READS,
    ...LIST_MODELS,
  },
  scope: 'inference:chat',
  route: MODELS_ROUTE,
  async run({ ask, signal }) {
    return await resultOf(await ask(MODELS_ROUTE, signal), (body) => {
      const models = body.data as readonly { readonly id: string }[];
      return succeeded(body, models.map(({ id }) => id).join('\n'));
    });
  },
};

const getUsage: GatewayTool = {
  definition: {
    name: 'get_usage',
    title: 'Get usage',
    description:
      'Returns the usage of this key by model and by day, the remaining credits of its company, and the state of its limits.',
    annotations: READS,
    ...GET_USAGE,
  },
  scope: 'usage:read',
  route: USAGE_ROUTE,
  async run({ arguments: given, ask, signal }) {
    return await resultOf(await ask(withQuery(USAGE_ROUTE, given), signal));
  },
};

const listJobs: GatewayTool = {
  definition: {
    name: 'list_jobs',
    title: 'List jobs',
    description:
      'Lists the active jobs of the company, the newest first, a page at a time: give next_cursor as after for more.',
    annotations: READS,
    ...LIST_JOBS,
  },
  scope: 'jobs:read',
  route: JOBS_ROUTE,
  async run({ arguments: given, ask, signal }) {
    return await resultOf(await ask(withQuery(JOBS_ROUTE, given), signal));
  },
};

const parseCv: GatewayTool = parseTool('/parse/cv', {
  name: 'parse_cv',
  title: 'Parse a CV',
  description:
    'Reads a CV, as text or as a file in base64, into structured fields with their places in the text. Charged.',
  annotations: PARSES,
  ...PARSE_CV,
});

const parseJd: GatewayTool = parseTool('/parse/jd', {
  name: 'parse_jd',
  title: 'Parse a job posting',
  description:
    'Reads a job posting, as text or as a file in base64, into structured requirements with their places. Charged.',
  annotations: PARSES,
  ...PARSE_JD,
});

/** Passes the arguments unchanged as the body of the route, which validates them. */
function parseTool(path: string, definition: GatewayTool['definition']): GatewayTool {
  const route = { method: 'POST', path } as const;
  return {
    definition,
    scope: 'inference:parse',
    route,
    async run({ arguments: body, ask, signal }) {
      return await resultOf(await ask({ ...route, body }, signal));
    },
  };
}

/** Passes the arguments as parameters of the route, which validates them. Lists are joined with commas. */
function withQuery<Route extends { readonly path: string }>(route: Route, given: Arguments): Route {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) {
    if (value !== null && value !== undefined) search.set(name, printed(value));
  }
  const query = search.toString();
  return query === '' ? route : { ...route, path: `${route.path}?${query}` };
}

function printed(value: unknown): string {
  if (Array.isArray(value)) return value.join(',');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
