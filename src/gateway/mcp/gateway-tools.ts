import type { Clock } from '../../ports/clock.ts';
import { createChatTool } from './chat-tool.ts';
import { parseCv, parseJd } from './parse-tools.ts';
import { getUsage, listJobs, listModels } from './read-tools.ts';
import type { GatewayTool } from './tool.ts';

/** All there are, in the order in which they are listed. */
export function createGatewayTools({ clock }: { readonly clock: Clock }): readonly GatewayTool[] {
  return [createChatTool({ clock }), listModels, getUsage, listJobs, parseCv, parseJd];
}
