import { useState } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import { Confirmed, Copy } from '../../parts/dialog.tsx';
import { Area, Field, Form } from '../../parts/form.tsx';
import { Bones, Card, Empty, InOrder, Notice, Page, Problem } from '../../parts/page.tsx';
import { count, counted, exact } from '../../parts/words.tsx';
import { useConsole } from '../../session/console-context.ts';
import { graphql } from '../../session/graphql.ts';
import { useChange, useQuery } from '../../session/use-query.ts';

const SETTINGS = graphql(`{ payloadSettings {
  payloadRetentionDays maxRetentionDays redactionPatterns redactedKinds maxBytes } }`);
const SET = graphql(`mutation($days: Int, $patterns: [String!]) {
  setPayloadSettings(payloadRetentionDays: $days, redactionPatterns: $patterns) { payloadRetentionDays } }`);
const ERASE = graphql(`mutation($requestId: String, $endUser: String) {
  erasePayloads(requestId: $requestId, endUser: $endUser) }`);
export const PAYLOAD = graphql(`query($requestId: String!) { callPayload(requestId: $requestId) {
  endpoint request response requestTruncated responseTruncated storedAt expiresAt } }`);

/** Settings for stored prompts and answers, and ways to find and erase them. */
export function Payloads() {
  const result = useQuery(SETTINGS);
  const change = useChange(result.reload);
  const [isSaved, setSaved] = useState(false);
  const settings = result.data?.payloadSettings ?? null;
  return (
    <Page
      title="Stored prompts"
      says="Prompts and answers are stored only for API keys that you set to do so. They are redacted, encrypted, and shown to admins of your company alone."
    >
      <Problem error={result.error} retry={result.reload} />
      <div className="halves">
        <InOrder>
          <Card title="How they are stored">
            {isSaved && <Notice mood="good">Saved.</Notice>}
            {settings === null ? (
              result.error === null && <Bones lines={5} />
            ) : (
              <Form
                submit="Save"
                guards
                asks={({ number }) => {
                  const [days, before] = [number('days'), settings.payloadRetentionDays];
                  if (days === null || days >= before) return null;
                  return {
                    title: `Store for ${counted(days, 'day')} instead of ${counted(before, 'day')}?`,
                    says: `What was stored more than ${counted(days, 'day')} ago is erased. This cannot be undone.`,
                  };
                }}
                send={async ({ number, text }) => {
                  setSaved(false);
                  const patterns = text('patterns')
                    .split('\n')
                    .map((line) => line.trim())
                    .filter((line) => line !== '');
                  await change(SET, { days: number('days'), patterns });
                  setSaved(true);
                }}
              >
                <Field
                  label="Store for (days)"
                  {...{
                    name: 'days',
                    type: 'number',
                    min: 1,
                    max: settings.maxRetentionDays,
                    required: true,
                  }}
                  hint={`At most ${count(settings.maxRetentionDays)}. A shorter time also applies to what is stored.`}
                  defaultValue={settings.payloadRetentionDays}
                />
                <Area
                  label="Also redact, one text per line; * matches any characters of a word"
                  name="patterns"
                  rows={4}
                  defaultValue={settings.redactionPatterns.join('\n')}
                />
                <p className="quiet small">
                  Always redacted: {settings.redactedKinds.join(', ') || 'nothing'}. Requests and answers are
                  cut at {count(settings.maxBytes)} bytes each.
                </p>
              </Form>
            )}
          </Card>
          <div className="stack">
            <FindCall />
            <EraseUser />
          </div>
        </InOrder>
      </div>
    </Page>
  );
}

function FindCall() {
  const [, navigate] = useLocation();
  return (
    <Card title="Find a call">
      <Form
        submit="Show"
        send={async ({ text }) => navigate(`/calls/${encodeURIComponent(text('requestId'))}/payload`)}
      >
        <Field
          label="Request id"
          name="requestId"
          hint="x-request-id of the answer. Every view is in the audit log."
          maxLength={128}
          required
        />
      </Form>
    </Card>
  );
}

function EraseUser() {
  const { session } = useConsole();
  const [erased, setErased] = useState<number | null>(null);
  return (
    <Card title="Erase what is stored">
      {erased !== null && <Notice mood="good">{erasedWords(erased)}</Notice>}
      <Form
        submit="Erase all of this user"
        isDanger
        clears
        asks={({ text }) => ({
          title: `Erase all of “${text('endUser')}”?`,
          says: 'All stored prompts and answers of calls with this end user are erased. The records of the calls and their cost stay. This cannot be undone.',
        })}
        send={async ({ text }) => {
          const { erasePayloads } = await session.request(ERASE, { endUser: text('endUser') });
          setErased(erasePayloads);
        }}
      >
        <Field
          label="End user"
          name="endUser"
          hint="The value of user that your program sends. This cannot be undone."
          maxLength={128}
          required
        />
      </Form>
    </Card>
  );
}

function erasedWords(erased: number): string {
  return `${counted(erased, 'stored call was', 'stored calls were')} erased.`;
}

export function StoredCall() {
  const { requestId } = useParams<{ requestId: string }>();
  const { session } = useConsole();
  const [, navigate] = useLocation();
  const result = useQuery(PAYLOAD, { requestId });
  const payload = result.data?.callPayload ?? null;
  return (
    <Page
      title="Prompt and answer"
      says={`Request ${requestId}`}
      back={{ href: '/payloads', name: 'Stored prompts' }}
      actions={
        payload !== null && (
          <div className="row tight">
            <Link href={`/playground/${encodeURIComponent(requestId)}`} className="button">
              Open in the playground
            </Link>
            <Confirmed
              name="Erase"
              title="Erase this prompt and answer?"
              says="The record of the call and its cost stay. This cannot be undone."
              work={async () => {
                await session.request(ERASE, { requestId });
                navigate('/payloads');
              }}
            />
          </div>
        )
      }
    >
      <Problem error={result.error} retry={result.reload} />
      {result.data === null ? (
        result.error === null && <Bones lines={8} />
      ) : payload === null ? (
        <Empty title="Nothing is stored for this request">
          Its key does not store prompts and answers, or they were erased or have expired.
        </Empty>
      ) : (
        <>
          <p className="quiet small">
            Stored {exact(payload.storedAt)}, until {exact(payload.expiresAt)}. Your view is in the audit log.
          </p>
          <Text title="Request" text={payload.request} isCut={payload.requestTruncated} />
          {payload.response === null ? (
            <Card title="Answer">
              <p>No answer came.</p>
            </Card>
          ) : (
            <Text title="Answer" text={payload.response} isCut={payload.responseTruncated} />
          )}
        </>
      )}
    </Page>
  );
}

function Text({ title, text, isCut }: { title: string; text: string; isCut: boolean }) {
  const shown = isCut ? text : prettyJson(text);
  return (
    <Card title={title}>
      {isCut && <Notice mood="warn">It was longer than what is stored. The end is missing.</Notice>}
      <pre>{shown}</pre>
      <div>
        <Copy text={shown} name={`Copy the ${title.toLowerCase()}`} />
      </div>
    </Card>
  );
}

export function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
