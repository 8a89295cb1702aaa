import { useState } from 'react';
import { Link } from 'wouter';
import { Copy } from '../../parts/dialog.tsx';
import { Facts } from '../../parts/facts.tsx';
import { Choice } from '../../parts/form.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { useConsole, useIsAdmin } from '../../session/console-context.ts';

interface Client {
  readonly name: string;
  readonly where: string;
  readonly text: string;
}

const TOOLS = [
  ['chat', 'inference:chat', 'asks a model'],
  ['list_models', 'inference:chat', 'what can be called'],
  ['get_usage', 'usage:read', 'what was used'],
  ['list_jobs', 'jobs:read', 'your jobs'],
  ['parse_cv', 'inference:parse', 'a CV into a profile'],
  ['parse_jd', 'inference:parse', 'an advertisement into its fields'],
] as const;

export function Connect() {
  const { gatewayUrl } = useConsole();
  const isAdmin = useIsAdmin();
  const [chosen, setChosen] = useState(0);
  const address = `${gatewayUrl}/mcp`;
  const clients = clientsFor(address);
  const client = clients[chosen] ?? clients[0];
  return (
    <Page
      title="Agents and MCP"
      says="Turnpike is an MCP server: assistants and agents call its tools with a key, at the same price and within the same limits."
    >
      <div className="halves">
        <Card title="Address">
          <pre>{address}</pre>
          <div>
            <Copy text={address} name="Copy the address" />
          </div>
          <p className="quiet">
            Send a key of your company as <code>Authorization: Bearer</code>.{' '}
            {isAdmin ? (
              <>
                Give agents <Link href="/keys">a key of their own</Link>, with the scopes, models and spending
                limit that they need.
              </>
            ) : (
              'Ask an admin of your company for one.'
            )}
          </p>
        </Card>
        <Card title="Tools">
          <Facts
            facts={TOOLS.map(([name, scope, what]) => [
              name,
              <span key={name}>
                {what} <code className="quiet">{scope}</code>
              </span>,
            ])}
          />
          <p className="quiet small">A key lists the tools of its scopes alone.</p>
        </Card>
      </div>
      <Card title="How to add it">
        <Choice label="Client" value={chosen} onChange={(event) => setChosen(Number(event.target.value))}>
          {clients.map(({ name }, at) => (
            <option key={name} value={at}>
              {name}
            </option>
          ))}
        </Choice>
        <p className="quiet">{client?.where}</p>
        <pre data-testid="client-settings">{client?.text}</pre>
        <div>
          <Copy key={chosen} text={client?.text ?? ''} />
        </div>
      </Card>
    </Page>
  );
}

function clientsFor(url: string): readonly Client[] {
  const headers = { Authorization: 'Bearer YOUR_KEY' };
  const file = (outer: string, inner: object) => JSON.stringify({ [outer]: { turnpike: inner } }, null, 2);
  return [
    {
      name: 'Claude Code',
      where: 'On the command line, with the key in $KEY.',
      text: `claude mcp add --transport http turnpike ${url} --header "Authorization: Bearer $KEY"`,
    },
    {
      name: 'VS Code',
      where: 'Into .vscode/mcp.json; keep the key out of files that are shared.',
      text: file('servers', { type: 'http', url, headers }),
    },
    {
      name: 'Cursor',
      where: 'Into .cursor/mcp.json.',
      text: file('mcpServers', { url, headers }),
    },
    {
      name: 'Others with a settings file',
      where: 'Most clients need an address and a header in this form.',
      text: file('mcpServers', { type: 'http', url, headers }),
    },
    {
      name: 'The official inspector',
      where: 'To look at the tools from a terminal.',
      text: `npx @modelcontextprotocol/inspector --cli ${url} --transport http --method tools/list --header "Authorization: Bearer $KEY"`,
    },
    {
      name: 'curl',
      where: 'To check that the key works.',
      text: `curl -s ${url} -H "Authorization: Bearer $KEY" -H 'content-type: application/json' -d '${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_models' } })}'`,
    },
  ];
}
