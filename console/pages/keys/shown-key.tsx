import { Copy, Dialog } from '../../parts/dialog.tsx';
import { Notice } from '../../parts/page.tsx';
import { useConsole } from '../../session/console-context.ts';

export const SAMPLE_ALIAS = 'svc/chat-default';

interface ShownKeyProps {
  readonly created: { readonly rawKey: string; readonly apiKey: { readonly name: string } };
  close(): void;
}

/** A key is shown only once, so Escape does not close the dialog. */
export function ShownKey({ created, close }: ShownKeyProps) {
  const { gatewayUrl } = useConsole();
  return (
    <Dialog title={`Your key “${created.apiKey.name}”`} isLasting close={close}>
      <Notice mood="warn">This is the only time it is shown. Copy it now.</Notice>
      <pre data-shown-once="" data-testid="raw-key">
        {created.rawKey}
      </pre>
      <div className="row">
        <Copy text={created.rawKey} name="Copy the key" />
      </div>
      {Object.entries(samples(gatewayUrl, created.rawKey)).map(([name, text]) => (
        <details key={name} open={name === 'curl'}>
          <summary>{name}</summary>
          <pre>{text}</pre>
          <Copy text={text} name={`Copy the ${name} line`} />
        </details>
      ))}
      <div>
        <button type="button" className="main" onClick={close}>
          I have stored it
        </button>
      </div>
    </Dialog>
  );
}

function samples(gatewayUrl: string, key: string): Record<string, string> {
  const body = JSON.stringify({ model: SAMPLE_ALIAS, messages: [{ role: 'user', content: 'Hello' }] });
  return {
    curl: `curl ${gatewayUrl}/chat/completions -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${body}'`,
    Node: `import OpenAI from 'openai';
const client = new OpenAI({ baseURL: '${gatewayUrl}', apiKey: '${key}' });
const answer = await client.chat.completions.create(${body});
console.log(answer.choices[0].message.content);`,
    Python: `from openai import OpenAI
client = OpenAI(base_url="${gatewayUrl}", api_key="${key}")
answer = client.chat.completions.create(model="${SAMPLE_ALIAS}", messages=[{"role": "user", "content": "Hello"}])
print(answer.choices[0].message.content)`,
  };
}
