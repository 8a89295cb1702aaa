import { useState } from 'react';
import { Field, Form } from '../parts/form.tsx';
import { Bones, Card, Notice, Problem } from '../parts/page.tsx';
import { spoken } from '../parts/words.tsx';
import { useConsole, useSessionState } from '../session/console-context.ts';
import { graphql } from '../session/graphql.ts';
import { useQuery } from '../session/use-asking.ts';

interface Weight {
  readonly part: string;
  readonly weight: number;
}

const WEIGHTS = graphql(`{ matchWeights { part weight } }`);
const SET_WEIGHTS = graphql(
  `mutation($weights: [MatchWeightInput!]!) { setMatchWeights(weights: $weights) { part } }`,
);

/** What counts how much, for those who may set it. */
export function MatchWeights() {
  const { session } = useConsole();
  const state = useSessionState();
  const asked = useQuery<{ matchWeights: readonly Weight[] }>(WEIGHTS);
  const [isSet, setSet] = useState(false);
  const weights = asked.data?.matchWeights;
  if (state.status !== 'in' || state.person.role !== 'COMPANY_ADMIN') return null;
  return (
    <Card title="What counts how much">
      <p className="quiet">
        From 0 to 100; only their relation matters. All matches are scored anew afterwards.
      </p>
      <Problem error={asked.error} retry={asked.reload} />
      {isSet && <Notice mood="good">Set. The matches are being scored anew.</Notice>}
      {weights === undefined ? (
        <Bones />
      ) : (
        <Form
          submit="Set the weights"
          send={async ({ number }) => {
            const wanted = weights.map(({ part }) => ({ part, weight: number(part) ?? 0 }));
            await session.ask(SET_WEIGHTS, { weights: wanted });
            setSet(true);
            await asked.reload();
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
