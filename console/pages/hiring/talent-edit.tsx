import { useState } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import { ChangedSince, useFirstVersion } from '../../parts/changed-since.tsx';
import { Area, Field, Form, GroupButton, useGroupFocus } from '../../parts/form.tsx';
import type { FormValues } from '../../parts/form-values.ts';
import { objectIn, textIn } from '../../parts/json.ts';
import { Bones, Card, Notice, Page, Problem } from '../../parts/page.tsx';
import { useConsole } from '../../session/console-context.ts';
import { graphql } from '../../session/graphql.ts';
import { type Talent, useTalent } from './talent.tsx';
import { editedProfile, fieldText, type KeyedEntry, SECTIONS, type Sections } from './talent-edited.ts';
import { type Entry, profileOf } from './talent-profile.ts';

const UPDATE = graphql(
  `mutation($id: ID!, $profile: JSON!, $version: Int) {
    updateTalent(id: $id, profile: $profile, version: $version) { id } }`,
);

export function TalentEdit() {
  const { id } = useParams<{ id: string }>();
  const { talent, error, reload } = useTalent(id);
  const name = talent?.name ?? 'this talent';
  const [form, setForm] = useState(0);
  return (
    <Page
      title={talent === null ? 'Edit' : `Edit ${name}`}
      says="What you save replaces what was read. The earlier version stays in the history."
      back={{ href: `/talents/${id}`, name: talent?.name ?? 'Talent' }}
    >
      <Problem error={error} retry={reload} />
      {talent === null ? (
        error === null && <Bones lines={8} />
      ) : (
        <ProfileForm talent={talent} key={`${talent.id} ${form}`} loadNewer={() => setForm(form + 1)} />
      )}
    </Page>
  );
}

function ProfileForm({ talent, loadNewer }: { talent: Talent; loadNewer(): void }) {
  const version = useFirstVersion(talent.version);
  const { session } = useConsole();
  const [, navigate] = useLocation();
  const profile = profileOf(talent.profile);
  const whole = objectIn(talent.profile);
  // The fields show the version that was loaded when the form was opened.
  const [first] = useState(whole);
  const [sections, setSections] = useState<Sections>(() => keyed(profile));
  const { basics } = profile;
  const place = objectIn(basics.location);
  const here = `/talents/${talent.id}`;
  const send = async (values: FormValues) => {
    const edited = editedProfile(first, sections, values);
    await session.request(UPDATE, { id: talent.id, profile: edited, version: version.first });
    navigate(here);
  };
  return (
    <Form submit="Save" guards beside={<Link href={here}>Cancel</Link>} send={send}>
      {version.isOld && <ChangedSince what="This profile" load={loadNewer} />}
      {talent.status === 'PENDING' && (
        <Notice mood="warn">The CV is still being read. If you save now, its contents are ignored.</Notice>
      )}
      <Card title="Person">
        <div className="columns">
          <Field
            label="Name"
            name="basics.name"
            maxLength={300}
            required
            defaultValue={textIn(basics.name)}
          />
          <Field label="Headline" name="basics.label" maxLength={300} defaultValue={textIn(basics.label)} />
          <Field label="E-mail" name="basics.email" type="email" defaultValue={textIn(basics.email)} />
          <Field label="Telephone" name="basics.phone" defaultValue={textIn(basics.phone)} />
          <Field label="Web" name="basics.url" defaultValue={textIn(basics.url)} />
          <Field label="Town" name="city" defaultValue={textIn(place.city)} />
          <Field
            label="Months of experience"
            name="months"
            type="number"
            min={0}
            max={1200}
            defaultValue={textIn(whole.total_months_experience)}
          />
        </div>
        <Area label="Summary" name="basics.summary" rows={4} defaultValue={textIn(basics.summary)} />
        <Area
          label="Skills, one per line"
          name="skills"
          rows={6}
          defaultValue={profile.skills.map(({ name }) => textIn(name)).join('\n')}
        />
      </Card>
      {(Object.keys(SECTIONS) as (keyof Sections)[]).map((section) => (
        <SectionFields
          key={section}
          section={section}
          entries={sections[section]}
          change={(entries) => setSections({ ...sections, [section]: entries })}
        />
      ))}
    </Form>
  );
}

interface SectionFieldsProps {
  readonly section: keyof Sections;
  readonly entries: readonly KeyedEntry[];
  change(entries: readonly KeyedEntry[]): void;
}

function SectionFields({ section, entries, change }: SectionFieldsProps) {
  const { title, one } = SECTIONS[section];
  const next = Math.max(-1, ...entries.map(({ key }) => key)) + 1;
  return (
    <Card
      title={title}
      actions={
        <GroupButton
          className="little"
          onClick={() => change([{ key: next, entry: {}, isNew: true }, ...entries])}
        >
          Add {one}
        </GroupButton>
      }
    >
      {entries.length === 0 && <p className="quiet">None.</p>}
      {entries.map((keyedEntry, at) => (
        <EntryFields
          {...keyedEntry}
          key={keyedEntry.key}
          name={`${section}.${keyedEntry.key}`}
          section={section}
          legend={`${title} ${at + 1}`}
          remove={() => change(entries.filter(({ key }) => key !== keyedEntry.key))}
        />
      ))}
    </Card>
  );
}

interface EntryFieldsProps extends Omit<KeyedEntry, 'key'> {
  /** Begins the names of its fields. */
  readonly name: string;
  readonly section: keyof Sections;
  readonly legend: string;
  remove(): void;
}

function EntryFields({ name: start, section, legend, entry, isNew = false, remove }: EntryFieldsProps) {
  const { fields } = SECTIONS[section];
  const [short, long] = [fields.filter((one) => !one.isLong), fields.filter((one) => one.isLong)];
  const group = useGroupFocus(isNew);
  return (
    <fieldset className="group" ref={group}>
      <legend className="unseen">{legend}</legend>
      <div className="columns">
        {short.map(({ name, label, hint }) => (
          <Field
            key={name}
            label={label}
            name={`${start}.${name}`}
            maxLength={4000}
            defaultValue={textIn(entry[name])}
            {...(hint === undefined ? {} : { hint })}
          />
        ))}
      </div>
      {long.map(({ name, label }) => (
        <Area
          key={name}
          label={label}
          name={`${start}.${name}`}
          rows={3}
          defaultValue={fieldText(entry[name])}
        />
      ))}
      <div>
        <GroupButton className="little danger" onClick={remove}>
          Remove {textIn(entry[fields[0]?.name ?? '']) || 'this entry'}
        </GroupButton>
      </div>
    </fieldset>
  );
}

function keyed(profile: ReturnType<typeof profileOf>): Sections {
  const numbered = (entries: readonly Entry[]) => entries.map((entry, key) => ({ key, entry }));
  const { work, education, languages, certificates } = profile;
  return {
    work: numbered(work),
    education: numbered(education),
    languages: numbered(languages),
    certificates: numbered(certificates),
  };
}
