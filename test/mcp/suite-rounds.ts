import {
  acceptedContent,
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  createRequestStateCodec,
  type InputRequests,
  type InputRequiredResult,
  inputRequired,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';

/** What a tool keeps between two rounds travels with the client, signed. */
export const suiteState = createRequestStateCodec<Record<string, unknown>>({
  key: new Uint8Array(32).fill(7),
});

const NOTHING = z.object({});
const said = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] });

export function askFor(name: string, type: 'string' | 'boolean' = 'string') {
  const properties = { [name]: { type } } as Record<string, { type: 'string' } | { type: 'boolean' }>;
  const requestedSchema = { type: 'object' as const, properties, required: [name] };
  return inputRequired.elicit({ message: `Your ${name}?`, requestedSchema });
}

const askModel = (text: string) =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text } }],
    maxTokens: 50,
  });

type Round = (context: ServerContext['mcpReq']) => Promise<CallToolResult | InputRequiredResult>;
const given = ({ inputResponses }: ServerContext['mcpReq'], name: string) => inputResponses?.[name];

const ROUNDS: Readonly<Record<string, Round>> = {
  test_missing_capability: async (context) =>
    given(context, 'llm_answer') === undefined
      ? inputRequired({ inputRequests: { llm_answer: askModel('Say pong') } })
      : said('pong'),
  test_input_required_result_elicitation: async (context) => {
    const answer = acceptedContent<{ name: string }>(context.inputResponses, 'user_name');
    if (typeof answer?.name === 'string') return said(`Hello, ${answer.name}!`);
    return inputRequired({ inputRequests: { user_name: askFor('name') } });
  },
  test_input_required_result_sampling: async (context) => {
    const answer = given(context, 'capital_question');
    if (answer !== undefined) return said(JSON.stringify(answer));
    return inputRequired({ inputRequests: { capital_question: askModel('What is the capital of France?') } });
  },
  test_input_required_result_list_roots: async (context) => {
    const answer = given(context, 'client_roots');
    if (answer !== undefined) return said(JSON.stringify(answer));
    return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
  },
  test_input_required_result_request_state: async (context) => {
    if (given(context, 'confirm') !== undefined && context.requestState() !== undefined)
      return said('state-ok');
    const requestState = await suiteState.mint({ tool: 'request_state' });
    return inputRequired({ inputRequests: { confirm: askFor('ok', 'boolean') }, requestState });
  },
  test_input_required_result_tampered_state: async (context) => {
    if (given(context, 'confirm') !== undefined && context.requestState() !== undefined)
      return said('integrity-ok');
    const requestState = await suiteState.mint({ tool: 'tampered_state' });
    return inputRequired({ inputRequests: { confirm: askFor('ok', 'boolean') }, requestState });
  },
  test_input_required_result_multiple_inputs: async (context) => {
    const names = ['user_name', 'greeting', 'client_roots'];
    if (names.every((name) => given(context, name) !== undefined)) return said('all of them');
    const inputRequests = {
      user_name: askFor('name'),
      greeting: askModel('Generate a greeting'),
      client_roots: inputRequired.listRoots(),
    };
    return inputRequired({ inputRequests, requestState: await suiteState.mint({ tool: 'multiple' }) });
  },
  test_input_required_result_multi_round: async (context) => {
    const round = Number(context.requestState<{ round?: number }>()?.round ?? 0);
    if (round === 2) return said('Multi-round complete');
    const inputRequests: InputRequests = round === 0 ? { step1: askFor('name') } : { step2: askFor('color') };
    return inputRequired({ inputRequests, requestState: await suiteState.mint({ round: round + 1 }) });
  },
  test_input_required_result_capabilities: async (context) => {
    if (context.inputResponses !== undefined) return said('fulfilled');
    const declared = (context.envelope as Record<string, ClientCapabilities> | undefined)?.[
      CLIENT_CAPABILITIES_META_KEY
    ];
    const inputRequests: InputRequests = {
      ...(declared?.elicitation === undefined ? {} : { user_name: askFor('name') }),
      ...(declared?.sampling === undefined ? {} : { greeting: askModel('Greet') }),
      ...(declared?.roots === undefined ? {} : { client_roots: inputRequired.listRoots() }),
    };
    return Object.keys(inputRequests).length === 0
      ? said('nothing to ask')
      : inputRequired({ inputRequests });
  },
};

/** Tools that ask the client for something and go on when it comes back with the answer. */
export function addSuiteRounds(server: McpServer): void {
  for (const [name, round] of Object.entries(ROUNDS)) {
    server.registerTool(name, { description: name, inputSchema: NOTHING }, (_, { mcpReq }) => round(mcpReq));
  }
}
