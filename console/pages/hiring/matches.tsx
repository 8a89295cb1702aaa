import { useState } from 'react';
import { Link, useSearch } from 'wouter';
import { Dialog } from '../../parts/dialog.tsx';
import { Chips, Score } from '../../parts/facts.tsx';
import { Field, Form } from '../../parts/form.tsx';
import { List, RowButton } from '../../parts/list.tsx';
import { Bones, Card, InOrder, Notice, Page, Problem } from '../../parts/page.tsx';
import { count, Moment, spoken } from '../../parts/words.tsx';
import { useConsole, useSessionState } from '../../session/console-context.ts';
import { graphql, type RowOf } from '../../session/graphql.ts';
import { usePages, useQuery } from '../../session/use-query.ts';

const MATCHES = graphql(`query($after: ID, $jobId: ID, $talentId: ID) {
  matches(first: 20, after: $after, jobId: $jobId, talentId: $talentId) {
    nodes { id score jobToTalent talentToJob reasons missing updatedAt engine
      job { id title } talent { id name }
      parts { name score weight found missing } }
    pageInfo { hasNextPage endCursor } } }`);
const WEIGHTS = graphql(`{ matchWeights { part weight } }`);
const SET_WEIGHTS = graphql(
  `mutation($weights: [MatchWeightInput!]!) { setMatchWeights(weights: $weights) { part } }`,
);

type Match = RowOf<typeof MATCHES>;

export function Matches() {
  const search = new URLSearchParams(useSearch());
  const [shown, setShown] = useState<Match | null>(null);
  const jobId = search.get('job');
  const talentId = search.get('talent');
  const pages = usePages(MATCHES, {
    ...(jobId === null ? {} : { jobId }),
    ...(talentId === null ? {} : { talentId }),
  });
  return (
    <Page
      title="Matches"
      says="How well talents and jobs fit, the best first. Name, age, sex, origin and photo are not considered."
    >
      {(jobId !== null || talentId !== null) && (
        <p>
          Those of one {jobId !== null ? 'job' : 'talent'}. <Link href="/matches">Show all</Link>
        </p>
      )}
      <InOrder>
        <Card>
          <List
            label="Matches"
            nothing="No matches yet"
            rows={pages.nodes}
            error={pages.error}
            retry={pages.reload}
            more={pages}
            keyOf={({ id }) => id}
            nameOf={({ talent, job }) => `${talent.name ?? 'Without a name'}, ${job.title}`}
            empty={
              <p>
                Add a <Link href="/jobs">job</Link> and a <Link href="/talents">talent</Link>; matches appear
                automatically.
              </p>
            }
            columns={[
              { name: 'Score', show: ({ score }) => <Score value={score} /> },
              {
                name: 'Talent',
                show: ({ talent }) => (
                  <Link href={`/talents/${talent.id}`}>{talent.name ?? 'Without a name'}</Link>
                ),
              },
              { name: 'Job', show: ({ job }) => <Link href={`/jobs/${job.id}`}>{job.title}</Link> },
              { name: 'Why', show: ({ reasons }) => reasons[0] ?? '' },
              { name: 'Scored', show: ({ updatedAt }) => <Moment at={updatedAt} /> },
              {
                name: 'Actions',
                show: (match) => <RowButton onClick={() => setShown(match)}>Reasons</RowButton>,
              },
            ]}
          />
        </Card>
        <MatchWeights />
      </InOrder>
      {shown !== null && <Reasons match={shown} close={() => setShown(null)} />}
    </Page>
  );
}

function Reasons({ match, close }: { match: Match; close(): void }) {
  return (
    <Dialog title={`${match.talent.name ?? 'Talent'} for ${match.job.title}`} close={close} isWide>
      <div className="row">
        <Score value={match.score} />
        <span className="quiet">
          The talent fits the job with {count(match.jobToTalent)} of 100, the job fits the talent with{' '}
          {count(match.talentToJob)}.
        </span>
      </div>
      {match.reasons.length > 0 && (
        <div>
          <h3>Why</h3>
          <ul className="points">
            {match.reasons.map((reason) => (
              <li key={reason}>{reason}</li>
            ))}
          </ul>
        </div>
      )}
      {match.missing.length > 0 && (
        <div>
          <h3>What is missing</h3>
          <ul className="points">
            {match.missing.map((one) => (
              <li key={one}>{one}</li>
            ))}
          </ul>
        </div>
      )}
      <List
        label="Parts of the score"
        rows={match.parts}
        keyOf={({ name }) => name}
        empty={null}
        columns={[
          { name: 'Part', show: ({ name }) => spoken(name) },
          { name: 'Score', show: ({ score }) => <Score value={score} /> },
          { name: 'Weight', isNumber: true, show: ({ weight }) => `${Math.round(weight * 100)}%` },
          { name: 'Found', show: ({ found }) => <Chips words={found} mood="good" /> },
          { name: 'Missing', show: ({ missing }) => <Chips words={missing} mood="warn" /> },
        ]}
      />
      <p className="quiet small">
        Scored <Moment at={match.updatedAt} />
        {match.engine === 'model' && ', explained by a model'}.
      </p>
      <div>
        <button type="button" className="main" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

/** The weights of the match score, shown to admins, who may set them. */
function MatchWeights() {
  const { session } = useConsole();
  const state = useSessionState();
  const result = useQuery(WEIGHTS);
  const [isSet, setSet] = useState(false);
  const weights = result.data?.matchWeights;
  if (state.status !== 'in' || state.person.role !== 'COMPANY_ADMIN') return null;
  return (
    <Card title="Weights">
      <p className="quiet">
        From 0 to 100; only their ratio matters. Closeness compares the whole text of a CV with that of the
        job. All matches are then scored again.
      </p>
      <Problem error={result.error} retry={result.reload} />
      {isSet && <Notice mood="good">Saved. The matches are being scored again.</Notice>}
      {weights === undefined ? (
        result.error === null && <Bones />
      ) : (
        <Form
          submit="Save the weights"
          guards
          send={async ({ number }) => {
            setSet(false);
            const wanted = weights.map(({ part }) => ({ part, weight: number(part) ?? 0 }));
            await session.request(SET_WEIGHTS, { weights: wanted });
            setSet(true);
            await result.reload();
          }}
        >
          <div className="columns">
            {weights.map(({ part, weight }) => (
              <Field
                key={part}
                label={spoken(part)}
                name={part}
                type="number"
                min={0}
                max={100}
                step="any"
                defaultValue={weight}
                required
              />
            ))}
          </div>
        </Form>
      )}
    </Card>
  );
}
