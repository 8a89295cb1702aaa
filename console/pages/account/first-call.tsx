import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { Act } from '../../parts/dialog.tsx';
import { Bones, Card, Notice } from '../../parts/page.tsx';
import { credits } from '../../parts/words.tsx';
import { useConsole, useSessionState } from '../../session/console-context.ts';
import { type DataOf, graphql } from '../../session/graphql.ts';
import type { Person } from '../../session/session.ts';
import { useQuery } from '../../session/use-query.ts';
import { ShownKey } from '../keys/shown-key.tsx';

const KEYS = graphql(`{ apiKeyPage(first: 50) { nodes { id name lastUsedAt } } }`);
const CREATE = graphql(`mutation($input: CreateApiKeyInput!) {
  createApiKey(input: $input) { rawKey apiKey { name } } }`);
const LOOK_EVERY_MS = 5_000;

type CreatedKey = DataOf<typeof CREATE>['createApiKey'];

interface FirstCallProps {
  /** Null while it is not known. */
  readonly known: { readonly hasCredits: boolean; readonly hasCalls: boolean } | null;
}

/** Guides a new company to its first successful call. Shown to admins until every step is done or it is dismissed. */
export function FirstCall(props: FirstCallProps) {
  const state = useSessionState();
  const person = state.status === 'in' ? state.person : null;
  const [isDismissed, setDismissed] = useState(() => person !== null && isStoredDismissed(person));
  if (person === null || person.role !== 'COMPANY_ADMIN' || isDismissed) return null;
  const dismiss = () => {
    localStorage.setItem(nameFor(person), 'dismissed');
    setDismissed(true);
  };
  return <Checklist {...props} person={person} dismiss={dismiss} />;
}

interface Step {
  readonly name: string;
  readonly isDone: boolean;
  readonly says: ReactNode;
}

function Checklist({ known, person, dismiss }: FirstCallProps & { person: Person; dismiss(): void }) {
  const { session } = useConsole();
  const keys = useQuery(KEYS, {}, LOOK_EVERY_MS);
  const [created, setCreated] = useState<CreatedKey | null>(null);
  const [wasOpen, setWasOpen] = useState(false);
  // What is below waits for it, except while it cannot be loaded.
  if (keys.data === null || known === null) return keys.error === null ? <Bones lines={1} /> : null;
  const { nodes } = keys.data.apiKeyPage;
  const steps = stepsOf({
    person,
    hasCredits: known.hasCredits,
    // The playground's own key does not count: it is never shown to a user.
    hasKey: nodes.some(({ name }) => name !== 'Playground'),
    hasCalls: known.hasCalls || nodes.some(({ lastUsedAt }) => lastUsedAt !== null),
    create: async () => {
      const { createApiKey } = await session.request(CREATE, { input: { name: 'First key' } });
      setCreated(createApiKey);
      await keys.reload();
    },
  });
  const left = steps.filter(({ isDone }) => !isDone).length;
  // Hidden if every step was done before the page was opened. A user who completes the steps here sees that they are
  // done.
  if (left === 0 && !wasOpen && created === null) return null;
  if (left > 0 && !wasOpen) setWasOpen(true);
  const close = (
    <button type="button" className="little" onClick={dismiss}>
      {left === 0 ? 'Close the checklist' : 'Dismiss the checklist'}
    </button>
  );
  return (
    <Card title="Your first call" actions={close}>
      {left === 0 && <Notice mood="good">All done: your company is ready.</Notice>}
      <ol className="steps">
        {steps.map(({ name, isDone, says }) => (
          <li key={name} data-done={isDone}>
            <div>
              <strong>{name}</strong> {isDone && <span className="word good">Done</span>}
            </div>
            {!isDone && <div className="quiet">{says}</div>}
          </li>
        ))}
      </ol>
      {created !== null && <ShownKey created={created} close={() => setCreated(null)} />}
    </Card>
  );
}

interface StepsArgs {
  readonly person: Person;
  readonly hasCredits: boolean;
  readonly hasKey: boolean;
  readonly hasCalls: boolean;
  create(): Promise<void>;
}

function stepsOf({ person, hasCredits, hasKey, hasCalls, create }: StepsArgs): readonly Step[] {
  return [
    {
      name: 'Verify your e-mail address',
      isDone: person.emailVerified,
      says: <VerifyWords person={person} />,
    },
    {
      name: 'Get credits',
      isDone: hasCredits,
      says: (
        <>
          Calls are paid from credits. <Link href="/billing">Buy credits</Link>, or see what{' '}
          <Link href="/prices">the models cost</Link>.
        </>
      ),
    },
    {
      name: 'Create an API key',
      isDone: hasKey,
      says: (
        <>
          <p>Your programs call the models with it. It comes with a curl line that is ready to paste.</p>
          <Act name="Create a key" work={create} />
        </>
      ),
    },
    {
      name: 'Make the first call',
      isDone: hasCalls,
      says: hasKey ? (
        <>
          <p>
            Paste the curl line that you got with the key into a terminal; this step ticks itself. A key is
            shown once: if you do not have it any more, create another one.
          </p>
          <div className="row">
            <Act name="Create another key with its curl line" work={create} />
            <Link href="/playground">Or try a model in the playground</Link>
          </div>
        </>
      ) : (
        'Use the key from the previous step.'
      ),
    },
  ];
}

function VerifyWords({ person }: { person: Person }) {
  const { trialCredits } = useConsole();
  return (
    <>
      Open the link that was mailed to {person.email}.
      {trialCredits > 0 && ` Your company then gets ${credits(trialCredits)} credits to try the models with.`}
    </>
  );
}

const nameFor = (person: Person) => `first-call-${person.companyId}-${person.id}`;

function isStoredDismissed(person: Person): boolean {
  return localStorage.getItem(nameFor(person)) !== null;
}
