import { Link } from 'wouter';
import { useFilters } from '../../operations/filters.tsx';
import { Area, Choice, Field, Form } from '../../parts/form.tsx';
import { List } from '../../parts/list.tsx';
import { Card, Page, Tag, ToForm } from '../../parts/page.tsx';
import { Moment, spoken } from '../../parts/words.tsx';
import { useConsole } from '../../session/console-context.ts';
import { graphql, type RowOf, type Variables } from '../../session/graphql.ts';
import { usePages } from '../../session/use-query.ts';
import { JOB_MOODS, JobFields, jobInput, LOOK_WHILE_READING_MS } from './job.tsx';

const JOBS = graphql(`query($after: ID, $status: JobStatus, $search: String) {
  jobs(first: 20, after: $after, status: $status, search: $search) {
    nodes { id title location remote status parsing parseProblem mustHave updatedAt }
    pageInfo { hasNextPage endCursor } } }`);
const CREATE = graphql(`mutation($input: JobInput!) { createJob(input: $input) { id } }`);
const FIRST_STEP = 'Add a job below: a title and what it demands are enough.';

type Job = RowOf<typeof JOBS>;
type JobInput = Variables<typeof CREATE>['input'];

export function Jobs() {
  const { session } = useConsole();
  const { filter, setFilter, typed, oneOf } = useFilters();
  const status = oneOf('status', ['ACTIVE', 'DRAFT', 'CLOSED'] as const);
  const isFiltered = status !== undefined || filter('search') !== '';
  const wanted = { ...(status === undefined ? {} : { status }), search: filter('search') };
  const pages = usePages(JOBS, wanted, (nodes) =>
    nodes.some(({ parsing }) => parsing === 'PENDING') ? LOOK_WHILE_READING_MS : null,
  );
  const { reload } = pages;
  const add = async (input: JobInput) => {
    await session.request(CREATE, { input });
    await reload();
  };
  return (
    <Page
      title="Jobs"
      says="What you are hiring for. Active jobs are matched with your talents."
      actions={<ToForm of="Add a job" />}
    >
      <Card title="Your jobs">
        <div className="columns">
          <Field label="Search" {...typed('search')} />
          <Choice
            label="Status"
            value={status ?? ''}
            onChange={(event) => setFilter('status', event.target.value)}
          >
            <option value="">All</option>
            <option value="ACTIVE">Active</option>
            <option value="DRAFT">Draft</option>
            <option value="CLOSED">Closed</option>
          </Choice>
        </div>
        <List
          label="Jobs"
          rows={pages.nodes}
          error={pages.error}
          retry={pages.reload}
          more={pages}
          keyOf={({ id }) => id}
          nothing={isFiltered ? 'No such job' : 'No jobs yet'}
          empty={<p>{isFiltered ? 'Choose other words or another status.' : FIRST_STEP}</p>}
          columns={[
            { name: 'Job', show: (job) => <JobName {...job} /> },
            { name: 'Status', show: (job) => <Tag mood={JOB_MOODS[job.status]}>{spoken(job.status)}</Tag> },
            { name: 'Must have', show: ({ mustHave }) => mustHave.join(', ') },
            { name: 'Changed', show: ({ updatedAt }) => <Moment at={updatedAt} /> },
            { name: 'Matches', show: ({ id }) => <Link href={`/matches?job=${id}`}>Matches</Link> },
          ]}
        />
      </Card>
      {/* Not before the list: its rows would move the form while it is being filled in. */}
      {(pages.nodes !== null || pages.error !== null) && <NewJob add={add} />}
    </Page>
  );
}

function JobName({ id, title, location, remote, parsing, parseProblem }: Job) {
  return (
    <>
      <div>
        <Link href={`/jobs/${id}`}>{title === '' ? 'Being read…' : title}</Link>
      </div>
      <span className="quiet small">
        {[location, remote ? 'remote' : null].filter((one) => one !== null).join(', ')}
      </span>
      {parsing === 'PENDING' && <Tag mood="warn">Its text is being read</Tag>}
      {parseProblem !== null && <Tag mood="bad">{parseProblem}</Tag>}
    </>
  );
}

function NewJob({ add }: { add(input: JobInput): Promise<void> }) {
  return (
    <div className="halves">
      <Card title="Add a job">
        <Form submit="Add the job" clears guards send={(typed) => add(jobInput(typed))}>
          <JobFields />
        </Form>
      </Card>
      <Card title="Or paste its text">
        <p className="quiet">
          It becomes a draft, and its fields are read from the text. Publish it when they are right.
        </p>
        <Form submit="Read the advertisement" clears guards send={({ text }) => add({ text: text('text') })}>
          <Area label="Text of the advertisement" name="text" rows={10} required />
        </Form>
      </Card>
    </div>
  );
}
