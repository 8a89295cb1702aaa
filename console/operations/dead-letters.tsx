import { useEffect, useState } from 'react';
import { useParams } from 'wouter';
import { Act, Confirmed } from '../parts/dialog.tsx';
import { objectIn } from '../parts/json.ts';
import { List } from '../parts/list.tsx';
import { Bones, Card, Figure, Notice, Page } from '../parts/page.tsx';
import { recordedField, Sentence, When } from '../parts/recorded.tsx';
import { count, counted, duration } from '../parts/words.tsx';
import { useConsole } from '../session/console-context.ts';
import { graphql } from '../session/graphql.ts';
import { usePages } from '../session/use-query.ts';
import { type Queue, useQueues } from './queues.tsx';

const LETTERS =
  graphql(`query($queue: String!, $after: ID) { deadLetters(queue: $queue, first: 30, after: $after) {
  nodes { id error failedAt data } pageInfo { hasNextPage endCursor } } }`);
const REDRIVE = graphql(
  `mutation($queue: String!, $ids: [ID!]) { redriveDeadLetters(queue: $queue, ids: $ids) }`,
);
const DELETE = graphql(
  `mutation($queue: String!, $ids: [ID!]!) { deleteDeadLetters(queue: $queue, ids: $ids) }`,
);

export function DeadLetters() {
  const { session } = useConsole();
  const { name = '' } = useParams<{ name: string }>();
  const queues = useQueues();
  const queue = queues.data?.workQueues.find((one) => one.name === name);
  const pages = usePages(LETTERS, { queue: name });
  const [said, setSaid] = useState<string | null>(null);
  const dead = queue?.dead ?? null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a different number of letters means different letters
  useEffect(() => void pages.reload(), [dead]);
  const redrive = async (ids: readonly string[] | null) => {
    const answer = await session.request(REDRIVE, { queue: name, ids });
    setSaid(redriven(answer.redriveDeadLetters));
    await Promise.all([pages.reload(), queues.reload()]);
  };
  const remove = async (ids: readonly string[]) => {
    const answer = await session.request(DELETE, { queue: name, ids });
    setSaid(
      answer.deleteDeadLetters === 1
        ? 'One letter is deleted.'
        : `${count(answer.deleteDeadLetters)} letters are deleted.`,
    );
    await Promise.all([pages.reload(), queues.reload()]);
  };
  const shown = pages.nodes ?? [];
  const actions = shown.length > 0 && (
    <>
      <Confirmed
        name="Redrive all"
        title={`Give all dead letters of ${name} another run?`}
        says={`${counted(dead ?? shown.length, 'job is', 'jobs are')} queued again, with all attempts.`}
        danger={false}
        isBig
        work={() => redrive(null)}
      />
      <Confirmed
        name="Delete those shown"
        title={`Delete ${counted(shown.length, 'dead letter')} for good?`}
        says="This work is then not done. This cannot be undone."
        isBig
        work={() => remove(shown.map(({ id }) => id))}
      />
    </>
  );
  return (
    <Page
      title={`Queue ${name}`}
      says="Its dead letters: jobs that failed on every attempt. They are stored for 90 days."
      back={{ href: '/queues', name: 'Workers and queues' }}
      actions={actions}
    >
      {queue !== undefined ? <QueueFigures queue={queue} /> : queues.data === null && <Bones lines={2} />}
      {said !== null && <Notice mood="good">{said}</Notice>}
      <Card title="Dead letters">
        <List
          label="Dead letters"
          rows={pages.nodes}
          error={pages.error}
          retry={pages.reload}
          more={pages}
          keyOf={({ id }) => id}
          nameOf={({ id }) => `…${id.slice(-6)}`}
          nothing="No dead letters"
          empty={<p>Every job was completed or will be retried automatically.</p>}
          columns={[
            { name: 'Failed', show: ({ failedAt }) => <When at={failedAt} /> },
            { name: 'Error', show: ({ error }) => <Sentence text={error} /> },
            { name: 'About', show: ({ data }) => <About data={data} /> },
            {
              name: 'Actions',
              show: ({ id }) => (
                <div className="row">
                  <Act name="Redrive" work={() => redrive([id])} />
                  <Confirmed
                    name="Delete"
                    title="Delete this dead letter for good?"
                    says="The work of this job is then not done. This cannot be undone."
                    work={() => remove([id])}
                  />
                </div>
              ),
            },
          ]}
        />
      </Card>
    </Page>
  );
}

function redriven(number: number): string {
  if (number === 0) return 'None was moved: the same job may wait already.';
  return number === 1 ? 'One job runs again.' : `${count(number)} jobs run again.`;
}

function QueueFigures({ queue }: { queue: Queue }) {
  const { waiting, oldestWaitingSeconds: oldest, active, dead, donePerMinute, failedPerMinute } = queue;
  return (
    <div className="columns">
      <Figure
        name="Waiting"
        value={count(waiting)}
        says={oldest === null ? 'nothing is late' : `the oldest for ${duration(oldest)}`}
      />
      <Figure name="Running" value={count(active)} says={`${count(donePerMinute)} done a minute`} />
      <Figure
        name="Dead"
        value={count(dead)}
        says={`${counted(failedPerMinute, 'run fails', 'runs fail')} a minute`}
      />
    </div>
  );
}

function About({ data }: { data: unknown }) {
  const fields = Object.entries(objectIn(data));
  if (fields.length === 0) return <span className="quiet">nothing</span>;
  return fields.map(([name, value]) => {
    const [label, shown] = recordedField(name, value);
    return (
      <div key={name} className="small">
        <span className="quiet">{label}</span> {shown}
      </div>
    );
  });
}
