import { Link } from 'wouter';
import { Amount, List, Nil } from '../parts/list.tsx';
import { Card, Notice, Page, Tag } from '../parts/page.tsx';
import { count, duration } from '../parts/words.tsx';
import { graphql, type RowOf } from '../session/graphql.ts';
import { useQuery } from '../session/use-query.ts';

const QUEUES = graphql(`{ workQueues { name waiting active dead oldestWaitingSeconds processes donePerMinute
  failedPerMinute } }`);
const LOOK_EVERY_MS = 2_000;

export type Queue = RowOf<typeof QUEUES>;

export function useQueues() {
  return useQuery(QUEUES, {}, LOOK_EVERY_MS);
}

export function Queues() {
  const result = useQueues();
  const queues = result.data?.workQueues ?? null;
  const dead = (queues ?? []).filter((queue) => queue.dead > 0);
  const abandoned = (queues ?? []).filter(({ waiting, processes }) => waiting > 0 && processes === 0);
  return (
    <Page
      title="Workers and queues"
      says="Background jobs of all processes. A job that has used up its retries is a dead letter and waits for you."
    >
      {dead.length > 0 && (
        <Notice mood="warn">
          Dead letters wait in{' '}
          {dead.map(({ name }, at) => (
            <span key={name}>
              {at > 0 && ', '}
              <Link href={`/queues/${name}`}>{name}</Link>
            </span>
          ))}
          .
        </Notice>
      )}
      {abandoned.length > 0 && (
        <Notice mood="bad">
          No worker takes jobs from {abandoned.map(({ name }) => name).join(', ')}. Check that the AI service
          is running.
        </Notice>
      )}
      <Card>
        <List
          label="Queues"
          rows={queues}
          error={result.error}
          retry={result.reload}
          keyOf={({ name }) => name}
          nothing="No queue"
          empty={<p>Queues are created when the AI service starts.</p>}
          columns={[
            { name: 'Queue', show: ({ name }) => <Link href={`/queues/${name}`}>{name}</Link> },
            { name: 'Waiting', isNumber: true, show: ({ waiting }) => <Amount of={waiting} /> },
            {
              name: 'Oldest waits',
              isNumber: true,
              show: ({ oldestWaitingSeconds: seconds }) => (seconds === null ? <Nil /> : duration(seconds)),
            },
            { name: 'Running', isNumber: true, show: ({ active }) => <Amount of={active} /> },
            {
              name: 'Done a minute',
              isNumber: true,
              show: ({ donePerMinute }) => <Amount of={donePerMinute} />,
            },
            {
              name: 'Failed a minute',
              isNumber: true,
              show: ({ failedPerMinute }) => <Amount of={failedPerMinute} />,
            },
            {
              name: 'Dead letters',
              isNumber: true,
              show: ({ dead: letters }) =>
                letters === 0 ? <Nil text="0" /> : <Tag mood="bad">{count(letters)}</Tag>,
            },
            {
              name: 'Processes',
              isNumber: true,
              show: ({ processes }) => (processes === 0 ? '0' : <Nil text={count(processes)} />),
            },
          ]}
        />
      </Card>
    </Page>
  );
}
