import { useState } from 'react';
import { Link } from 'wouter';
import { Confirmed } from '../parts/dialog.tsx';
import { Area, Choice, Field, Form, type Typed } from '../parts/form.tsx';
import { List } from '../parts/list.tsx';
import { Card, type Mood, Page, Tag } from '../parts/page.tsx';
import { Moment, spoken } from '../parts/words.tsx';
import { useConsole } from '../session/console-context.ts';
import { graphql } from '../session/graphql.ts';
import { usePages } from '../session/use-asking.ts';

interface Job {
  readonly id: string;
  readonly title: string;
  readonly location: string | null;
  readonly remote: boolean;
  readonly status: 'ACTIVE' | 'DRAFT' | 'CLOSED';
  readonly parsing: string;
  readonly parseProblem: string | null;
  readonly mustHave: readonly string[];
  readonly updatedAt: string;
}

const JOBS = graphql(`query($after: ID, $status: JobStatus, $search: String) {
  jobs(first: 20, after: $after, status: $status, search: $search) {
    nodes { id title location remote status parsing parseProblem mustHave updatedAt }
    pageInfo { hasNextPage endCursor } } }`);
const CREATE = graphql(`mutation($input: JobInput!) { createJob(input: $input) { id } }`);
const UPDATE = graphql(`mutation($id: ID!, $input: JobInput!) { updateJob(id: $id, input: $input) { id } }`);
const CLOSE = graphql(`mutation($id: ID!) { closeJob(id: $id) { id } }`);
const MOODS: Record<Job['status'], Mood> = { ACTIVE: 'good', DRAFT: 'warn', CLOSED: 'plain' };

export function Jobs() {
  const { session } = useConsole();
  const [status, setStatus] = useState('');
  const [search, setSearch] = useState('');
  const wanted = { ...(status === '' ? {} : { status }), ...(search === '' ? {} : { search }) };
  const pages = usePages<Job>(JOBS, 'jobs', wanted);
  const change = async (query: string, variables: object) => {
    await session.ask(query, variables);
    await pages.reload();
  };
  return (
    <Page title="Jobs" says="What you are hiring for. Active jobs are matched with your talents.">
      <Card title="Your jobs">
        <div className="columns">
          <Field
            label="Search"
            type="search"
            value={search}
            onChange={(event) => setSearch(event.target.value)}
          />
          <Choice label="Status" value={status} onChange={(event) => setStatus(event.target.value)}>
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
          empty={<p>Add a job below: a title and what it demands are enough.</p>}
          columns={[
            { name: 'Job', show: (job) => <JobName {...job} /> },
            { name: 'Status', show: (job) => <Tag mood={MOODS[job.status]}>{spoken(job.status)}</Tag> },
            { name: 'Must have', show: ({ mustHave }) => mustHave.join(', ') },
            { name: 'Changed', show: ({ updatedAt }) => <Moment at={updatedAt} /> },
            { name: 'Do', show: (job) => <JobActions job={job} change={change} /> },
          ]}
        />
      </Card>
      <NewJob add={(input) => change(CREATE, { input })} />
    </Page>
  );
}

function JobName({ title, location, remote, parsing, parseProblem }: Job) {
  return (
    <>
      <div>{title === '' ? <em>Being read…</em> : title}</div>
      <span className="quiet small">
        {[location, remote ? 'remote' : null].filter((one) => one !== null).join(', ')}
      </span>
      {parsing === 'PENDING' && <Tag mood="warn">Its text is being read</Tag>}
      {parseProblem !== null && <Tag mood="bad">{parseProblem}</Tag>}
    </>
  );
}

function JobActions({ job, change }: { job: Job; change(query: string, variables: object): Promise<void> }) {
  const { id, title, status } = job;
  return (
    <div className="row">
      <Link href={`/matches?job=${id}`}>Matches</Link>
      {status === 'DRAFT' && (
        <Confirmed
          name="Publish"
          danger={false}
          title={`Publish “${title}”?`}
          says="From then on it is matched with your talents."
          work={() => change(UPDATE, { id, input: { status: 'ACTIVE' } })}
        />
      )}
      {status !== 'CLOSED' && (
        <Confirmed
          name="Close"
          title={`Close “${title}”?`}
          says="It stays listed and is matched no more."
          work={() => change(CLOSE, { id })}
        />
      )}
    </div>
  );
}

function NewJob({ add }: { add(input: object): Promise<void> }) {
  const lines = (text: string) =>
    text
      .split(/[\n,]/)
      .map((one) => one.trim())
      .filter((one) => one !== '');
  const fromFields = ({ text, number, all }: Typed) =>
    add({
      title: text('title'),
      description: text('description'),
      location: text('location') === '' ? null : text('location'),
      remote: all('remote').length > 0,
      mustHave: lines(text('must')),
      niceToHave: lines(text('nice')),
      minMonthsExperience: number('months'),
    });
  return (
    <div className="halves">
      <Card title="Add a job">
        <Form submit="Add it" clears send={fromFields}>
          <Field label="Title" name="title" maxLength={200} required />
          <Area label="Description" name="description" rows={4} required />
          <Field label="Must have" name="must" hint="Separated by commas." />
          <Field label="Nice to have" name="nice" hint="Separated by commas." />
          <div className="columns">
            <Field label="Place" name="location" />
            <Field label="Months of experience" name="months" type="number" min={0} />
          </div>
          <label className="check">
            <input type="checkbox" name="remote" /> Remote
          </label>
        </Form>
      </Card>
      <Card title="Or paste its text">
        <p className="quiet">
          It becomes a draft, and its fields are read from the text. Publish it when they are right.
        </p>
        <Form submit="Read it" clears send={({ text }) => add({ text: text('text') })}>
          <Area label="Text of the advertisement" name="text" rows={10} required />
        </Form>
      </Card>
    </div>
  );
}
