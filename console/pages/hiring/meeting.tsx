import { Link, useParams } from 'wouter';
import { Facts, Score } from '../../parts/facts.tsx';
import { List } from '../../parts/list.tsx';
import { Bones, Card, Notice, Page, Problem, Tag } from '../../parts/page.tsx';
import { exact, Moment } from '../../parts/words.tsx';
import { type DataOf, graphql } from '../../session/graphql.ts';
import { useQuery } from '../../session/use-query.ts';
import { briefingOf, type Insight, insightOf, lengthWords, type Summary } from './meeting-data.ts';
import { AddText, LinkMeeting, PassOn } from './meeting-forms.tsx';

const MEETING = graphql(`query($id: ID!) { meeting(id: $id) {
  id room startsAt plannedMinutes startedAt endedAt jobId talentId briefing insight } }`);
const JOB = graphql(`query($id: ID!) { job(id: $id) { title } }`);
const TALENT = graphql(`query($id: ID!) { talent(id: $id) { name } }`);
const LOOK_EVERY_MS = 5_000;

type Meeting = DataOf<typeof MEETING>['meeting'];

export function MeetingPage() {
  const { id } = useParams<{ id: string }>();
  const result = useQuery(MEETING, { id }, LOOK_EVERY_MS);
  const meeting = result.data?.meeting ?? null;
  const insight = insightOf(meeting?.insight);
  return (
    <Page
      title={meeting === null ? 'Meeting' : `Room ${meeting.room}`}
      back={{ href: '/meetings', name: 'Meetings' }}
    >
      <Problem error={result.error} retry={result.reload} />
      {meeting === null ? (
        result.error === null && <Bones lines={6} />
      ) : (
        <>
          <Plan meeting={meeting} changed={result.reload} />
          <BriefingCard briefing={meeting.briefing} />
          {insight === null ? (
            <Notice>What is known of it appears when it has begun and ended.</Notice>
          ) : (
            <KnownOf insight={insight} />
          )}
          {insight?.summary != null && <PassOn id={id} room={meeting.room} />}
          <AddText id={id} changed={result.reload} hasText={insight?.summary != null} />
        </>
      )}
    </Page>
  );
}

function Plan({ meeting, changed }: { meeting: Meeting; changed(): Promise<void> }) {
  const { id, startsAt, plannedMinutes, startedAt, endedAt, jobId, talentId } = meeting;
  return (
    <Card title="When and what for">
      <Facts
        facts={[
          [
            'Planned',
            startsAt && `${exact(startsAt)}${plannedMinutes === null ? '' : `, ${plannedMinutes} min`}`,
          ],
          ['Started', <Moment at={startedAt} never="not yet" key="began" />],
          ['Ended', startedAt !== null && <Moment at={endedAt} never="not yet" key="ended" />],
          ['Job', jobId !== null && <JobLink id={jobId} />],
          ['Talent', talentId !== null && <TalentLink id={talentId} />],
        ]}
      />
      <LinkMeeting id={id} jobId={jobId} talentId={talentId} changed={changed} />
    </Card>
  );
}

function JobLink({ id }: { id: string }) {
  const { data, error } = useQuery(JOB, { id });
  if (error !== null) return 'no longer there';
  return <Link href={`/jobs/${id}`}>{data?.job.title ?? '…'}</Link>;
}

function TalentLink({ id }: { id: string }) {
  const { data, error } = useQuery(TALENT, { id });
  if (error !== null) return 'no longer there';
  return <Link href={`/talents/${id}`}>{data === null ? '…' : (data.talent.name ?? 'Without a name')}</Link>;
}

function BriefingCard({ briefing: given }: { briefing: unknown }) {
  const briefing = briefingOf(given);
  if (briefing === null) return null;
  return (
    <Card title="Briefing" actions={briefing.score !== null && <Score value={briefing.score} />}>
      <div className="beside">
        <Points title="Where they fit" points={briefing.fits} />
        <Points title="What to ask about" points={briefing.askAbout} />
      </div>
    </Card>
  );
}

function KnownOf({ insight }: { insight: Insight }) {
  const { durationSeconds, startedLateSeconds, overrunSeconds, summary, missing, warnings } = insight;
  const late = (seconds: number | null) => (seconds === null || seconds < 60 ? null : lengthWords(seconds));
  return (
    <>
      <Card title="How it went" actions={insight.isNoShow ? <Tag mood="bad">No-show</Tag> : undefined}>
        <Facts
          facts={[
            ['Length', durationSeconds !== null && lengthWords(durationSeconds)],
            ['Began late by', late(startedLateSeconds)],
            ['Ran over by', late(overrunSeconds)],
          ]}
        />
        {insight.attendees.length > 0 && (
          <List
            label="Who was there"
            rows={insight.attendees}
            keyOf={({ name, joinedAt }) => `${name} ${joinedAt}`}
            empty={null}
            columns={[
              { name: 'Who', show: ({ name }) => name },
              { name: 'Stayed', isNumber: true, show: ({ seconds }) => lengthWords(seconds) },
              { name: 'Late by', isNumber: true, show: ({ lateSeconds }) => late(lateSeconds) ?? '—' },
              {
                name: 'Talked',
                isNumber: true,
                show: ({ talkShare }) => (talkShare === null ? '—' : `${Math.round(talkShare * 100)}%`),
              },
            ]}
          />
        )}
        {warnings.length > 0 && <Points title="Check these times" points={warnings} />}
        {missing.length > 0 && (
          <details>
            <summary>What is not known, and why</summary>
            <Points points={missing} />
          </details>
        )}
      </Card>
      {summary !== null && <SummaryCard summary={summary} />}
    </>
  );
}

function SummaryCard({ summary: { sentences, decisions, actionItems, questions } }: { summary: Summary }) {
  return (
    <Card title="What was said">
      {sentences.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
      <Points title="Decisions" points={decisions} />
      <Points title="Open questions" points={questions} />
      <Points title="Next steps" points={actionItems} />
    </Card>
  );
}

function Points({ title, points }: { title?: string; points: readonly string[] }) {
  if (points.length === 0) return null;
  return (
    <div>
      {title !== undefined && <h3>{title}</h3>}
      <ul className="points">
        {[...new Set(points)].map((point) => (
          <li key={point}>{point}</li>
        ))}
      </ul>
    </div>
  );
}
