import { Chips, Facts } from '../../parts/facts.tsx';
import { objectIn, textIn } from '../../parts/json.ts';
import { Card } from '../../parts/page.tsx';
import { spoken } from '../../parts/words.tsx';
import { type Entry, experienceWords, type Profile, placed } from './talent-profile.ts';
import { Value } from './talent-source.tsx';

/** A read-only profile. Each value that was found in the CV links to its place there. */
export function ShownProfile({ profile, whole }: { profile: Profile; whole: unknown }) {
  const { basics, work, education, projects } = profile;
  const place = objectIn(basics.location);
  const more = objectIn(whole);
  const value = (name: string) => <Value path={`basics.${name}`} of={basics[name]} />;
  return (
    <div className="stack">
      <Card title="Person">
        <Facts
          facts={[
            ['Name', given(basics.name, value('name'))],
            ['Headline', given(basics.label, value('label'))],
            ['E-mail', given(basics.email, value('email'))],
            ['Telephone', given(basics.phone, value('phone'))],
            ['Web', given(basics.url, value('url'))],
            ['Town', given(place.city, <Value path="basics.location.city" of={place.city} />)],
            ['Region', given(place.region, <Value path="basics.location.region" of={place.region} />)],
            ['Country', textIn(place.countryCode) && countryName(textIn(place.countryCode))],
            ['Experience', experienceWords(more.total_months_experience)],
            [
              'Highest degree',
              textIn(more.highest_degree_level) && spoken(textIn(more.highest_degree_level)),
            ],
          ]}
        />
        {textIn(basics.summary) !== '' && <p className="said">{value('summary')}</p>}
      </Card>
      {work.length > 0 && (
        <Card title="Work">
          {placed(work).map(({ entry, at }) => (
            <WorkEntry key={at} entry={entry} at={at} />
          ))}
        </Card>
      )}
      {education.length > 0 && (
        <Card title="Education">
          {placed(education).map(({ entry, at }) => (
            <EducationEntry key={at} entry={entry} at={at} />
          ))}
        </Card>
      )}
      <Words profile={profile} />
      {projects.length > 0 && (
        <Card title="Projects">
          {placed(projects).map(({ entry, at }) => (
            <div className="entry" key={at}>
              <strong>
                <Value path={`projects[${at}].name`} of={entry.name} />
              </strong>
              <Span path={`projects[${at}]`} entry={entry} />
              <Value path={`projects[${at}].description`} of={entry.description} />
            </div>
          ))}
        </Card>
      )}
    </div>
  );
}

function countryName(code: string): string {
  try {
    return new Intl.DisplayNames('en', { type: 'region' }).of(code) ?? code;
  } catch {
    return code;
  }
}

function given<Shown>(value: unknown, shown: Shown): Shown | null {
  return textIn(value) === '' ? null : shown;
}

/** For example 2019-03 – 2021; without an end, to the present day. */
function Span({ path, entry }: { path: string; entry: Entry }) {
  const [start, end] = [textIn(entry.startDate), textIn(entry.endDate)];
  if (start === '' && end === '') return null;
  return (
    <span className="quiet small">
      {start === '' ? 'until' : <Value path={`${path}.startDate`} of={start} />}
      {start === '' ? ' ' : ' – '}
      {end === '' ? 'today' : <Value path={`${path}.endDate`} of={end} />}
    </span>
  );
}

function WorkEntry({ entry, at }: { entry: Entry; at: number }) {
  const highlights = Array.isArray(entry.highlights) ? entry.highlights.map(textIn).filter(Boolean) : [];
  const path = (name: string) => `work[${at}].${name}`;
  return (
    <div className="entry">
      <strong>
        <Value path={path('position')} of={entry.position} />
      </strong>
      <span>
        <Value path={path('name')} of={entry.name} />
        {textIn(entry.location) !== '' && ', '}
        <Value path={path('location')} of={entry.location} />
      </span>
      <Span path={`work[${at}]`} entry={entry} />
      {textIn(entry.summary) !== '' && (
        <p className="said">
          <Value path={path('summary')} of={entry.summary} />
        </p>
      )}
      {highlights.length > 0 && (
        <ul className="points">
          {placed(highlights).map(({ entry: highlight, at: place }) => (
            <li key={place}>
              <Value path={path(`highlights[${place}]`)} of={highlight} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function EducationEntry({ entry, at }: { entry: Entry; at: number }) {
  const path = (name: string) => `education[${at}].${name}`;
  const hasBoth = textIn(entry.studyType) !== '' && textIn(entry.area) !== '';
  return (
    <div className="entry">
      <strong>
        <Value path={path('studyType')} of={entry.studyType} />
        {hasBoth && ', '}
        <Value path={path('area')} of={entry.area} />
      </strong>
      <Value path={path('institution')} of={entry.institution} />
      <Span path={`education[${at}]`} entry={entry} />
    </div>
  );
}

/** Skills, languages and certificates as lists of words. */
function Words({ profile: { skills, languages, certificates } }: { profile: Profile }) {
  const named = (section: string, entries: readonly Entry[], name: string, beside: string) =>
    placed(entries).flatMap(({ entry, at }) =>
      textIn(entry[name]) === ''
        ? []
        : [
            <span key={at}>
              <Value path={`${section}[${at}].${name}`} of={entry[name]} />
              {textIn(entry[beside]) !== '' && <span className="quiet"> ({textIn(entry[beside])})</span>}
            </span>,
          ],
    );
  const rows = [
    ['Skills', named('skills', skills, 'name', 'level')],
    ['Languages', named('languages', languages, 'language', 'fluency')],
    ['Certificates', named('certificates', certificates, 'name', 'issuer')],
  ] as const;
  return rows
    .filter(([, words]) => words.length > 0)
    .map(([title, words]) => (
      <Card title={title} key={title}>
        <Chips words={words} />
      </Card>
    ));
}
