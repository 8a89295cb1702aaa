import { useEffect, useRef, useState } from 'react';
import { useParams } from 'wouter';
import { Area, Form } from '../../parts/form.tsx';
import { Bones, Card, Empty, Notice, Page, Problem } from '../../parts/page.tsx';
import { AnswerError, fieldError } from '../../session/answer-error.ts';
import { useConsole } from '../../session/console-context.ts';
import { useQuery } from '../../session/use-query.ts';
import { PAYLOAD, prettyJson } from '../usage/payloads.tsx';
import { Charge } from './charge.tsx';
import { usePlaygroundKey } from './playground.tsx';

/** The playground for a stored call: its body can be edited and sent again to the same route. */
export function SendAgain() {
  const { requestId } = useParams<{ requestId: string }>();
  const { gatewayUrl } = useConsole();
  const result = useQuery(PAYLOAD, { requestId });
  const keyFor = usePlaygroundKey();
  const [answer, setAnswer] = useState<WholeAnswer | null>(null);
  const stop = useRef<AbortController | null>(null);
  // Leaving the page ends the call, as in the playground.
  useEffect(() => () => stop.current?.abort(), []);
  const payload = result.data?.callPayload ?? null;
  const send = async (endpoint: string, text: string) => {
    setAnswer(null);
    const body = wholeBody(text);
    const control = new AbortController();
    stop.current = control;
    const call = { url: `${gatewayUrl}/${endpoint}`, key: await keyFor.get(), body, signal: control.signal };
    try {
      setAnswer(await sent(call));
    } catch (error) {
      if (control.signal.aborted) return;
      // The key was revoked, for example on the API keys page: the next call creates a new one.
      if (error instanceof AnswerError && error.status === 401) keyFor.drop();
      throw error;
    }
  };
  return (
    <Page
      title="Playground"
      says="A stored request, sent again on your credits with a key that is created for it."
      back={{ href: `/calls/${encodeURIComponent(requestId)}/payload`, name: 'Prompt and answer' }}
    >
      <Problem error={result.error} retry={result.reload} />
      {result.data === null ? (
        result.error === null && <Bones lines={8} />
      ) : payload === null ? (
        <Empty title="Nothing is stored for this request">It was erased or has expired.</Empty>
      ) : (
        <div className="halves">
          <Card title="Request">
            {payload.requestTruncated && (
              <Notice mood="warn">It was cut when it was stored. Complete it before you send it.</Notice>
            )}
            {payload.request.includes('[redacted ') && (
              <Notice mood="warn">Parts of it were redacted. They are sent as they are shown.</Notice>
            )}
            <Form submit="Send" send={({ text }) => send(payload.endpoint, text('body'))}>
              <Area label="Body" name="body" rows={16} required defaultValue={prettyJson(payload.request)} />
            </Form>
          </Card>
          <Card title="Answer">
            {answer === null ? (
              <Empty title="No answer yet">Send the request, in one piece and without a stream.</Empty>
            ) : (
              <>
                <pre data-testid="answer">{prettyJson(answer.text)}</pre>
                {answer.requestId !== null && <Charge requestId={answer.requestId} />}
              </>
            )}
          </Card>
        </div>
      )}
    </Page>
  );
}

/** Without streaming: the answer is shown as a whole. */
function wholeBody(text: string): string {
  try {
    const {
      stream: _stream,
      stream_options: _options,
      ...body
    } = JSON.parse(text) as Record<string, unknown>;
    return JSON.stringify(body);
  } catch {
    throw fieldError('body', 'It is not JSON. Correct it, then send it again.');
  }
}

interface WholeCall {
  readonly url: string;
  readonly key: string;
  readonly body: string;
  readonly signal: AbortSignal;
}

interface WholeAnswer {
  readonly text: string;
  readonly requestId: string | null;
}

async function sent({ url, key, body, signal }: WholeCall): Promise<WholeAnswer> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body, signal }).catch(() => {
    throw new AnswerError('The gateway cannot be reached from this page.', 'OFFLINE', null);
  });
  const text = await response.text();
  const requestId = response.headers.get('x-request-id');
  if (response.ok) return { text, requestId };
  const { status } = response;
  const refusal = parsed(text) as { error?: { message?: string; code?: string | null } } | null;
  const message = refusal?.error?.message ?? `The gateway answered ${status}.`;
  throw new AnswerError(message, refusal?.error?.code ?? '', requestId, { status });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
