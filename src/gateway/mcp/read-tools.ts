import type { Arguments, GatewayTool } from './tool.ts';
import { resultOf, succeeded } from './tool-result.ts';
import { GET_USAGE, LIST_JOBS, LIST_MODELS } from './tool-schemas.ts';

/** What costs nothing and changes nothing: asked again it answers the same, unless something happened meanwhile. */
const READS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

const MODELS_ROUTE = { method: 'GET', path: '/models' } as const;
const USAGE_ROUTE = { method: 'GET', path: '/usage' } as const;
const JOBS_ROUTE = { method: 'GET', path: '/jobs' } as const;

export const listModels: GatewayTool = {
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

export const getUsage: GatewayTool = {
  definition: {
    name: 'get_usage',
    title: 'Get usage',
    description:
      'Tells what this key has used, by model and by day, which credits its company has left, and how its limits stand.',
    annotations: READS,
    ...GET_USAGE,
  },
  scope: 'usage:read',
  route: USAGE_ROUTE,
  async run({ arguments: given, ask, signal }) {
    return await resultOf(await ask(withQuery(USAGE_ROUTE, given), signal));
  },
};

export const listJobs: GatewayTool = {
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

/** The arguments as the route's parameters, which judges them: a list with commas between, all else as it prints. */
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
