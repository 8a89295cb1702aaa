import { useEffect, useRef, useState } from 'react';
import { Copy } from '../../parts/dialog.tsx';
import { Area, Choice, Field, Form } from '../../parts/form.tsx';
import type { FormValues } from '../../parts/form-values.ts';
import { Card, Empty, Notice, Page, Problem } from '../../parts/page.tsx';
import { AnswerError } from '../../session/answer-error.ts';
import { useConsole, useSessionState } from '../../session/console-context.ts';
import { graphql } from '../../session/graphql.ts';
import { useQuery } from '../../session/use-query.ts';
import { Charge } from './charge.tsx';
import { SAMPLE_ALIAS } from './shown-key.tsx';

const ALIASES = graphql(`{ modelAliases { alias kind } }`);
const CREATE = graphql(`mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { rawKey } }`);
const KEY_LIFE_MS = 60 * 60_000;
const RENEW_BEFORE_MS = 60_000;

interface Answer {
  readonly text: string;
  /** Null until the response has begun. */
  readonly requestId: string | null;
  readonly state: 'running' | 'stopped' | 'failed' | 'complete';
}

export function Playground() {
  const { gatewayUrl } = useConsole();
  const aliases = useQuery(ALIASES);
  const chat = aliases.data?.modelAliases.filter(({ kind }) => kind === 'chat') ?? [];
  const playgroundKey = usePlaygroundKey();
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [body, setBody] = useState<string | null>(null);
  const [isRunning, setRunning] = useState(false);
  const stop = useRef<AbortController | null>(null);
  // Leaving the page ends the call, so that no output is generated and charged without a reader.
  useEffect(() => () => stop.current?.abort(), []);

  const send = async ({ text, number }: FormValues) => {
    const alias = text('alias');
    const system = text('system');
    const messages = [
      ...(system === '' ? [] : [{ role: 'system', content: system }]),
      { role: 'user', content: text('said') },
    ];
    const wanted = { model: alias, messages, max_tokens: number('maxTokens') ?? 400, stream: true };
    const control = new AbortController();
    stop.current = control;
    const key = await playgroundKey.get();
    if (control.signal.aborted) return;
    setBody(JSON.stringify(wanted));
    setAnswer({ text: '', requestId: null, state: 'running' });
    const change = (to: (now: Answer) => Partial<Answer>) =>
      setAnswer((now) => (now === null ? null : { ...now, ...to(now) }));
    const call = { gatewayUrl, key, body: wanted, signal: control.signal };
    setRunning(true);
    try {
      const state = await streamChat({
        ...call,
        onStart: (requestId) => change(() => ({ requestId })),
        onText: (part) => change(({ text }) => ({ text: text + part })),
      });
      change(() => ({ state }));
    } catch (error) {
      // The key was revoked, for example on the API keys page: the next call creates a new one.
      if (error instanceof AnswerError && error.status === 401) playgroundKey.drop();
      // The error is shown in the form. An answer that never began is not an empty one.
      setAnswer((now) => (now === null || now.text === '' ? null : { ...now, state: 'failed' }));
      throw error;
    } finally {
      setRunning(false);
    }
  };
  const stopButton = (
    <button type="button" aria-disabled={!isRunning} onClick={() => stop.current?.abort()}>
      Stop
    </button>
  );
  return (
    <Page
      title="Playground"
      says="Calls here are real and cost credits. They use a key of their own, which is valid for one hour and listed under API keys."
    >
      <Problem error={aliases.error} retry={aliases.reload} />
      <div className="halves">
        <Card title="Ask">
          <Form submit="Send" beside={stopButton} isReady={chat.length > 0} send={send}>
            {/* Built again once there are models; not with each change of them, which would undo a choice. */}
            <Choice
              key={String(chat.length > 0)}
              label="Model"
              name="alias"
              required
              defaultValue={SAMPLE_ALIAS}
            >
              {chat.map(({ alias }) => (
                <option key={alias}>{alias}</option>
              ))}
            </Choice>
            <Field label="Instructions" name="system" hint="Optional. Sent as the system message." />
            <Area label="Message" name="said" rows={5} required defaultValue="Say hello in one sentence." />
            <Field label="Maximum tokens" name="maxTokens" type="number" min={1} defaultValue={400} />
          </Form>
        </Card>
        <Card title="Answer">
          {answer === null ? (
            <Empty title="No answer yet">Send a message to see the answer.</Empty>
          ) : (
            <p className="said" aria-live="polite" data-testid="answer">
              {answer.text}
              {answer.text === '' && answer.state === 'running' && (
                <span className="quiet">Waiting for the model…</span>
              )}
            </p>
          )}
          {answer?.state === 'failed' && <Notice mood="warn">The answer is incomplete.</Notice>}
          {answer?.state === 'stopped' && <Notice mood="warn">You stopped the answer.</Notice>}
          {answer !== null && answer.state !== 'running' && answer.requestId !== null && (
            <Charge requestId={answer.requestId} />
          )}
          {body !== null && <Equivalent gatewayUrl={gatewayUrl} body={body} />}
        </Card>
      </div>
    </Page>
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

/** Kept in memory only, while this tab has the console open. Another visit to the page uses the same key. */
const playgroundKeys = new Map<string, { readonly key: Promise<string>; readonly untilMs: number }>();

export function usePlaygroundKey(): { get(): Promise<string>; drop(): void } {
  const { session } = useConsole();
  const state = useSessionState();
  const personId = state.status === 'in' ? state.person.id : '';
  const create = async (untilMs: number) => {
    const scopes = ['inference:chat', 'inference:parse'];
    const input = { name: 'Playground', scopes, expiresAt: new Date(untilMs).toISOString() };
    return (await session.request(CREATE, { input })).createApiKey.rawKey;
  };
  return {
    get() {
      const nowMs = Date.now();
      const known = playgroundKeys.get(personId);
      if (known !== undefined && known.untilMs - nowMs > RENEW_BEFORE_MS) return known.key;
      const created = { key: create(nowMs + KEY_LIFE_MS), untilMs: nowMs + KEY_LIFE_MS };
      // Only one user's key is kept.
      playgroundKeys.clear();
      playgroundKeys.set(personId, created);
      created.key.catch(() => playgroundKeys.delete(personId));
      return created.key;
    },
    drop: () => playgroundKeys.clear(),
  };
}

interface Chunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
  readonly error?: { readonly message: string; readonly code?: string | null };
}

interface ChatCall {
  readonly gatewayUrl: string;
  readonly key: string;
  readonly body: object;
  readonly signal: AbortSignal;
  onStart(requestId: string | null): void;
  onText(part: string): void;
}

/** Calls the gateway from the browser and streams the answer. If the user stops it, that is not an error. */
async function streamChat(call: ChatCall): Promise<'stopped' | 'complete'> {
  try {
    const response = await fetch(`${call.gatewayUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${call.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(call.body),
      signal: call.signal,
    });
    const requestId = response.headers.get('x-request-id');
    if (!response.ok || response.body === null) {
      const refusal = (await response.json().catch(() => ({}))) as Chunk;
      const message = refusal.error?.message ?? `The gateway answered ${response.status}.`;
      throw new AnswerError(message, refusal.error?.code ?? '', requestId, { status: response.status });
    }
    call.onStart(requestId);
    for await (const data of eventsOf(response.body)) {
      if (data === '[DONE]') break;
      const chunk = JSON.parse(data) as Chunk;
      if (chunk.error !== undefined) throw new AnswerError(chunk.error.message, 'STREAM', requestId);
      const part = chunk.choices?.[0]?.delta?.content;
      if (part) call.onText(part);
    }
    return 'complete';
  } catch (error) {
    if (call.signal.aborted) return 'stopped';
    throw error instanceof TypeError
      ? new AnswerError('The gateway cannot be reached from this page.', 'OFFLINE', null)
      : error;
  }
}

async function* eventsOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('data:')) yield line.slice(5).trim();
  }
}
