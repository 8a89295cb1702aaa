import type { GatewayTool } from './tool.ts';
import { resultOf } from './tool-result.ts';
import { PARSE_CV, PARSE_JD } from './tool-schemas.ts';

/** It stores nothing, yet each call is charged: not one to be repeated for nothing. */
const PARSES = { readOnlyHint: true, destructiveHint: false, idempotentHint: false, openWorldHint: false };

export const parseCv: GatewayTool = parseTool('/parse/cv', {
  name: 'parse_cv',
  title: 'Parse a CV',
  description:
    'Reads a CV, as text or as a file in base64, into structured fields with their places in the text. Charged.',
  annotations: PARSES,
  ...PARSE_CV,
});

export const parseJd: GatewayTool = parseTool('/parse/jd', {
  name: 'parse_jd',
  title: 'Parse a job posting',
  description:
    'Reads a job posting, as text or as a file in base64, into structured requirements with their places. Charged.',
  annotations: PARSES,
  ...PARSE_JD,
});

/** The arguments are the route's body as they are: it judges them. */
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
