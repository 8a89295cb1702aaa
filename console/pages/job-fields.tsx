import { Area, Choice, Field, type Typed } from '../parts/form.tsx';

export interface JobFieldsData {
  readonly title: string;
  readonly description: string;
  readonly location: string | null;
  readonly remote: boolean;
  readonly employmentType: string | null;
  readonly mustHave: readonly string[];
  readonly niceToHave: readonly string[];
  readonly minMonthsExperience: number | null;
}

const KINDS = ['full-time', 'part-time', 'contract', 'temporary', 'internship', 'apprenticeship'];

/** The fields of a job, empty for a new one. */
export function JobFields({ job }: { job?: JobFieldsData }) {
  const kinds = [...new Set([...KINDS, ...(job?.employmentType == null ? [] : [job.employmentType])])];
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
        label="Must have, one a line"
        name="must"
        rows={job === undefined ? 2 : 5}
        defaultValue={job?.mustHave.join('\n')}
      />
      <Area
        label="Nice to have, one a line"
        name="nice"
        rows={job === undefined ? 2 : 5}
        defaultValue={job?.niceToHave.join('\n')}
      />
      <div className="columns">
        <Field label="Place" name="location" maxLength={300} defaultValue={job?.location ?? ''} />
        <Choice label="Employment" name="employment" defaultValue={job?.employmentType ?? ''}>
          <option value="">Not said</option>
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

/** What was typed, as the backend takes it. */
export function jobInput({ text, number, all }: Typed) {
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
