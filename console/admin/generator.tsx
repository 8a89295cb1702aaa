import { Act } from '../parts/dialog.tsx';
import { Bones, Figure, Page, Problem } from '../parts/page.tsx';
import { count, Moment, spoken } from '../parts/words.tsx';
import { graphql } from '../session/graphql.ts';
import { useChange, useQuery } from '../session/use-query.ts';

const LOOK = graphql(`{ matchGenerator { state desiredState queueSize currentBatch totalProcessed totalErrors
  throughputPerMinute lastProcessedAt processes } }`);
const START = graphql(`mutation { startMatchGenerator { state } }`);
const STOP = graphql(`mutation { stopMatchGenerator { state } }`);
const LOOK_EVERY_MS = 2_000;

export function Generator() {
  const result = useQuery(LOOK, {}, LOOK_EVERY_MS);
  const generator = result.data?.matchGenerator;
  const change = useChange(result.reload);
  // What it is told to do, not what it does: a batch is finished first.
  const actions =
    generator?.desiredState === 'running' ? (
      <Act key="stop" name="Stop" isBig work={() => change(STOP)} />
    ) : (
      generator !== undefined && <Act key="start" name="Start" main work={() => change(START)} />
    );
  return (
    <Page
      title="Match generator"
      says="Scores talents against jobs, over all processes. Stopping waits for the current batch and persists after a restart."
      actions={actions}
    >
      <Problem error={result.error} retry={result.reload} />
      {generator === undefined ? (
        result.error === null && <Bones />
      ) : (
        <div className="columns">
          <Figure
            name="State"
            value={spoken(generator.state)}
            says={`requested: ${generator.desiredState.toLowerCase()}`}
          />
          <Figure name="Waiting" value={count(generator.queueSize)} says="pairs" />
          <Figure name="In work" value={count(generator.currentBatch)} says="pairs of this batch" />
          <Figure name="Rate" value={count(generator.throughputPerMinute)} says="matches a minute" />
          <Figure
            name="Done"
            value={count(generator.totalProcessed)}
            says={<Moment at={generator.lastProcessedAt} />}
          />
          <Figure
            name="Errors"
            value={count(generator.totalErrors)}
            says={generator.processes === 1 ? 'one process' : `${count(generator.processes)} processes`}
          />
        </div>
      )}
    </Page>
  );
}
