import { useState } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import { ChangedSince, useFirstVersion } from '../../parts/changed-since.tsx';
import { Confirmed } from '../../parts/dialog.tsx';
import { Chips, Facts } from '../../parts/facts.tsx';
import { Area, Choice, Field, Form } from '../../parts/form.tsx';
import type { FormValues } from '../../parts/form-values.ts';
import { Bones, Card, type Mood, Notice, Page, Problem, Tag } from '../../parts/page.tsx';
import { Moment, spoken } from '../../parts/words.tsx';
import { useConsole } from '../../session/console-context.ts';
import { type DataOf, graphql } from '../../session/graphql.ts';
import { useChange, useQuery } from '../../session/use-query.ts';
import { History } from './history.tsx';
import { experienceWords } from './talent-profile.ts';

const JOB = graphql(`query($id: ID!) { job(id: $id) {
  id version title description status location remote employmentType mustHave niceToHave minMonthsExperience parsing
  parseProblem engine createdAt updatedAt versions { version what fields changedByEmail changedAt } } }`);
const UPDATE = graphql(`mutation($id: ID!, $input: JobInput!, $version: Int) {
  updateJob(id: $id, input: $input, version: $version) { id } }`);
const CLOSE = graphql(`mutation($id: ID!) { closeJob(id: $id) { id } }`);
export const JOB_MOODS: Record<Job['status'], Mood> = { ACTIVE: 'good', DRAFT: 'warn', CLOSED: 'plain' };
export const LOOK_WHILE_READING_MS = 1_500;
const KINDS = ['full-time', 'part-time', 'contract', 'temporary', 'internship', 'apprenticeship'];
/** The employment types of schema.org, which advertisements use, and our names for them. */
const SAME_KINDS: Readonly<Record<string, string>> = {
  FULL_TIME: 'full-time',
  PART_TIME: 'part-time',
  CONTRACTOR: 'contract',
  TEMPORARY: 'temporary',
  INTERN: 'internship',
  VOLUNTEER: 'volunteer',
  PER_DIEM: 'per day',
  OTHER: 'other',
};

/** One name for each employment type, whether it was chosen or read from an advertisement. */
function employmentWords(kind: string | null): string | null {
  return kind === null ? null : (SAME_KINDS[kind] ?? kind);
}

type Job = DataOf<typeof JOB>['job'];

function useJob(id: string) {
  const result = useQuery(JOB, { id }, (data) =>
    data?.job.parsing === 'PENDING' ? LOOK_WHILE_READING_MS : null,
  );
  return { job: result.data?.job ?? null, error: result.error, reload: result.reload };
}

export function JobPage() {
  const { id } = useParams<{ id: string }>();
  const { job, error, reload } = useJob(id);
  return (
    <Page
      title={job === null ? 'Job' : job.title}
      actions={job !== null && <JobActions job={job} changed={reload} />}
      back={{ href: '/jobs', name: 'Jobs' }}
    >
      <Problem error={error} retry={reload} />
      {job === null ? error === null && <Bones lines={8} /> : <ShownJob job={job} />}
    </Page>
  );
}

function ShownJob({ job }: { job: Job }) {
  return (
    <>
      <p className="row small quiet">
        <Tag mood={JOB_MOODS[job.status]}>{spoken(job.status)}</Tag>
        <span>
          Added <Moment at={job.createdAt} />, changed <Moment at={job.updatedAt} />
        </span>
      </p>
      {job.parsing === 'PENDING' && (
        <Notice mood="warn">The text is being read. This page updates automatically.</Notice>
      )}
      {job.parseProblem !== null && <Notice mood="bad">{job.parseProblem}</Notice>}
      <div className="beside">
        <div className="stack">
          <Card title="Requirements">
            <Facts
              facts={[
                ['Must have', job.mustHave.length > 0 && <Chips words={job.mustHave} />],
                ['Nice to have', job.niceToHave.length > 0 && <Chips words={job.niceToHave} />],
                [
                  'Experience',
                  job.minMonthsExperience && `at least ${experienceWords(job.minMonthsExperience)}`,
                ],
                ['Place', job.location],
                ['Remote', job.remote ? 'yes' : 'no'],
                ['Employment', employmentWords(job.employmentType)],
              ]}
            />
          </Card>
        </div>
        <Card title="Description">
          <p className="said">{job.description === '' ? 'No text.' : job.description}</p>
        </Card>
      </div>
      <History
        versions={job.versions.map((one) => ({ ...one, after: one.fields }))}
        worker="the document reader"
      />
    </>
  );
}

function JobActions({ job: { id, title, status }, changed }: { job: Job; changed(): Promise<void> }) {
  const change = useChange(changed);
  return (
    <>
      <Link className="button" href={`/jobs/${id}/edit`}>
        Edit
      </Link>
      <Link className="button" href={`/matches?job=${id}`}>
        Matches
      </Link>
      {status !== 'ACTIVE' && (
        <Confirmed
          name={status === 'DRAFT' ? 'Publish' : 'Open again'}
          danger={false}
          isBig
          title={`${status === 'DRAFT' ? 'Publish' : 'Open again'} “${title}”?`}
          says="From then on it is matched with your talents."
          work={() => change(UPDATE, { id, input: { status: 'ACTIVE' } })}
        />
      )}
      {status !== 'CLOSED' && (
        <Confirmed
          name="Close"
          isBig
          title={`Close “${title}”?`}
          says="It stays listed and is no longer matched. You can open it again."
          work={() => change(CLOSE, { id })}
        />
      )}
    </>
  );
}

export function JobEdit() {
  const { id } = useParams<{ id: string }>();
  const { job, error, reload } = useJob(id);
  const [form, setForm] = useState(0);
  return (
    <Page
      title={job === null ? 'Edit' : `Edit “${job.title}”`}
      says="What you set is never replaced by what the advertisement says. The earlier version stays in the history."
      back={{ href: `/jobs/${id}`, name: job?.title ?? 'Job' }}
    >
      <Problem error={error} retry={reload} />
      {job === null ? (
        error === null && <Bones lines={8} />
      ) : (
        <Card>
          <JobForm key={form} job={job} loadNewer={() => setForm(form + 1)} />
        </Card>
      )}
    </Page>
  );
}

function JobForm({ job, loadNewer }: { job: Job; loadNewer(): void }) {
  const { session } = useConsole();
  const [, navigate] = useLocation();
  const version = useFirstVersion(job.version);
  const here = `/jobs/${job.id}`;
  return (
    <>
      {version.isOld && <ChangedSince what="This job" load={loadNewer} />}
      <Form
        submit="Save"
        guards
        beside={<Link href={here}>Cancel</Link>}
        send={async (values) => {
          await session.request(UPDATE, { id: job.id, input: jobInput(values), version: version.first });
          navigate(here);
        }}
      >
        <JobFields job={job} />
      </Form>
    </>
  );
}

/** The fields of a job, empty for a new one. */
export function JobFields({ job }: { job?: Job }) {
  const kind = employmentWords(job?.employmentType ?? null);
  const kinds = [...new Set([...KINDS, ...(kind === null ? [] : [kind])])];
  return (
    <>
      <Field label="Title" name="title" maxLength={300} required defaultValue={job?.title} />
      <Area
        label="Description"
        name="description"
        rows={job === undefined ? 4 : 12}
        required
        defaultValue={job?.description}
      />
      <Area
        label="Must have, one per line"
        name="must"
        rows={job === undefined ? 2 : 5}
        defaultValue={job?.mustHave.join('\n')}
      />
      <Area
        label="Nice to have, one per line"
        name="nice"
        rows={job === undefined ? 2 : 5}
        defaultValue={job?.niceToHave.join('\n')}
      />
      <div className="columns">
        <Field label="Place" name="location" maxLength={300} defaultValue={job?.location ?? ''} />
        <Choice label="Employment" name="employment" defaultValue={kind ?? ''}>
          <option value="">Not specified</option>
          {kinds.map((kind) => (
            <option key={kind}>{kind}</option>
          ))}
        </Choice>
        <Field
          label="Months of experience"
          name="months"
          type="number"
          min={0}
          max={1200}
          step={1}
          defaultValue={job?.minMonthsExperience ?? ''}
        />
      </div>
      <label className="check">
        <input type="checkbox" name="remote" defaultChecked={job?.remote ?? false} /> Remote
      </label>
    </>
  );
}

/** The values of the form as input for the backend. */
export function jobInput({ text, number, all }: FormValues) {
  const lines = (value: string) =>
    value
      .split('\n')
      .map((one) => one.trim())
      .filter((one) => one !== '');
  return {
    title: text('title'),
    description: text('description'),
    location: text('location') === '' ? null : text('location'),
    employmentType: text('employment') === '' ? null : text('employment'),
    remote: all('remote').length > 0,
    mustHave: lines(text('must')),
    niceToHave: lines(text('nice')),
    minMonthsExperience: number('months'),
  };
}
