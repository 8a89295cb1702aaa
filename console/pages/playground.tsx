import { useRef, useState } from 'react';
import { Copy } from '../parts/dialog.tsx';
import { Area, Choice, Field, Form, type Typed } from '../parts/form.tsx';
import { Card, Empty, Notice, Page, Problem } from '../parts/page.tsx';
import { count, credits } from '../parts/words.tsx';
import { useConsole } from '../session/console-context.ts';
import { graphql } from '../session/graphql.ts';
import { useQuery } from '../session/use-asking.ts';
import { SAMPLE_ALIAS } from './key-shown-once.tsx';
import { type ModelPrice, priceOf, type StreamedUsage, streamChat } from './stream-chat.ts';

interface Alias {
  readonly alias: string;
  readonly kind: string;
  readonly prices: readonly ModelPrice[];
}

const ALIASES = graphql(`{ modelAliases { alias kind prices { prompt cached completion } } }`);
const MINT = graphql(`mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { rawKey } }`);
const KEY_LIFE_MS = 60 * 60_000;
const RENEW_BEFORE_MS = 60_000;

interface Answer {
  readonly text: string;
  readonly usage: StreamedUsage | null;
  readonly isStopped: boolean;
}

export function Playground() {
  const { gatewayUrl } = useConsole();
  const aliases = useQuery<{ modelAliases: readonly Alias[] }>(ALIASES);
  const chat = aliases.data?.modelAliases.filter(({ kind }) => kind === 'chat') ?? [];
  const keyFor = usePlaygroundKey();
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [body, setBody] = useState<string | null>(null);
  const [price, setPrice] = useState<ModelPrice | null>(null);
  const [isRunning, setRunning] = useState(false);
  const stop = useRef<AbortController | null>(null);

  const send = async ({ text, number }: Typed) => {
    const alias = text('alias');
    const system = text('system');
    const messages = [
      ...(system === '' ? [] : [{ role: 'system', content: system }]),
      { role: 'user', content: text('said') },
    ];
    const wanted = { model: alias, messages, max_tokens: number('maxTokens') ?? 400, stream: true };
    const key = await keyFor();
    const control = new AbortController();
    stop.current = control;
    setBody(JSON.stringify(wanted));
    setPrice(chat.find((one) => one.alias === alias)?.prices[0] ?? null);
    setAnswer({ text: '', usage: null, isStopped: false });
    const told = (part: string) =>
      setAnswer((now) => ({ usage: null, isStopped: false, text: (now?.text ?? '') + part }));
    setRunning(true);
    try {
      const ended = await streamChat({ gatewayUrl, key, body: wanted, signal: control.signal, told });
      setAnswer((now) => ({ text: now?.text ?? '', ...ended }));
    } finally {
      setRunning(false);
    }
  };
  const stopButton = (
    <button type="button" disabled={!isRunning} onClick={() => stop.current?.abort()}>
      Stop
    </button>
  );
  return (
    <Page
      title="Playground"
      says="Real calls on your credits, with a key that is minted for it: one hour, listed under API keys, revocable there."
    >
      <Problem error={aliases.error} retry={aliases.reload} />
      <div className="halves">
        <Card title="Ask">
          <Form submit="Send" beside={stopButton} send={send}>
            <Choice label="Model" name="alias" required key={chat.length} defaultValue={SAMPLE_ALIAS}>
              {chat.map(({ alias }) => (
                <option key={alias}>{alias}</option>
              ))}
            </Choice>
            <Field label="Instructions" name="system" hint="Optional: what the model is to keep to." />
            <Area label="Message" name="said" rows={5} required defaultValue="Say hello in one sentence." />
            <Field label="Tokens at most" name="maxTokens" type="number" min={1} defaultValue={400} />
          </Form>
        </Card>
        <Card title="Answer">
          {answer === null ? (
            <Empty title="No answer yet">Send a message, and watch it come.</Empty>
          ) : (
            <p className="said" aria-live="polite" data-testid="answer">
              {answer.text}
            </p>
          )}
          {answer?.isStopped === true && <Notice mood="warn">You stopped it.</Notice>}
          {answer?.usage != null && <Cost usage={answer.usage} price={price} />}
          {body !== null && <Equivalent gatewayUrl={gatewayUrl} body={body} />}
        </Card>
      </div>
    </Page>
  );
}

function Cost({ usage, price }: { usage: StreamedUsage; price: ModelPrice | null }) {
  return (
    <Notice>
      {count(usage.promptTokens)} prompt tokens, {count(usage.completionTokens)} completion tokens
      {price !== null && `, ${credits(priceOf(usage, price))} credits`}
    </Notice>
  );
}

function Equivalent({ gatewayUrl, body }: { gatewayUrl: string; body: string }) {
  const text = `curl ${gatewayUrl}/chat/completions -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '${body.replaceAll("'", "'\\''")}'`;
  return (
    <details>
      <summary>The same with curl</summary>
      <pre>{text}</pre>
      <Copy text={text} />
    </details>
  );
}

/** Kept by this page alone: who comes back later gets another one. */
function usePlaygroundKey(): () => Promise<string> {
  const { session } = useConsole();
  const kept = useRef<{ key: string; untilMs: number } | null>(null);
  return async () => {
    const nowMs = Date.now();
    if (kept.current !== null && kept.current.untilMs - nowMs > RENEW_BEFORE_MS) return kept.current.key;
    const untilMs = nowMs + KEY_LIFE_MS;
    const scopes = ['inference:chat', 'inference:parse'];
    const input = { name: 'Playground', scopes, expiresAt: new Date(untilMs).toISOString() };
    const { createApiKey } = await session.ask<{ createApiKey: { rawKey: string } }>(MINT, { input });
    kept.current = { key: createApiKey.rawKey, untilMs };
    return createApiKey.rawKey;
  };
}
