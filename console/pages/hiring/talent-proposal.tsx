import { Link } from 'wouter';
import { Act } from '../../parts/dialog.tsx';
import { Form } from '../../parts/form.tsx';
import { Card } from '../../parts/page.tsx';
import { Moment, spoken } from '../../parts/words.tsx';
import { useConsole } from '../../session/console-context.ts';
import { graphql } from '../../session/graphql.ts';

const ACCEPT = graphql(`mutation($id: ID!, $fields: [String!]) {
  acceptTalentProposal(id: $id, fields: $fields) { id } }`);
const REJECT = graphql(`mutation($id: ID!) { rejectTalentProposal(id: $id) { id } }`);

interface Open {
  readonly id: string;
  readonly fromTalentId: string;
  readonly createdAt: string;
  readonly changes: readonly { readonly field: string; readonly before: unknown; readonly after: unknown }[];
}

/** The changes that a newer CV would make, to be accepted field by field or rejected. */
export function Proposal({ proposal, decided }: { proposal: Open; decided(): Promise<void> }) {
  const { session } = useConsole();
  const { id, fromTalentId, createdAt, changes } = proposal;
  const reject = (
    <Act
      name="Reject"
      isBig
      work={async () => {
        await session.request(REJECT, { id });
        await decided();
      }}
    />
  );
  return (
    <Card title="A newer CV proposes changes">
      <p className="quiet">
        <Link href={`/talents/${fromTalentId}`}>The CV</Link> came <Moment at={createdAt} />. This profile was
        edited by a person, so nothing has changed yet.
      </p>
      <Form
        submit="Accept what is marked"
        beside={reject}
        send={async ({ all }) => {
          await session.request(ACCEPT, { id, fields: [...all('fields')] });
          await decided();
        }}
      >
        <fieldset>
          <legend>Fields to take over</legend>
          {changes.map(({ field, before, after }) => (
            <label className="check" key={field}>
              <input type="checkbox" name="fields" value={field} defaultChecked />
              <span>
                <strong>{spoken(field.replace('basics.', ''))}</strong>: {inWords(before)} → {inWords(after)}
              </span>
            </label>
          ))}
        </fieldset>
      </Form>
    </Card>
  );
}

const LONGEST = 120;

/** Shows a list by the names of its entries, so that added and removed ones are visible. */
function inWords(value: unknown): string {
  if (value === null || value === undefined || value === '') return 'nothing';
  const text = Array.isArray(value) ? value.map(nameOf).join(', ') : nameOf(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

function nameOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const { name, position, institution, language } = value as Readonly<Record<string, unknown>>;
  const known = [position, name, institution, language].filter((one) => typeof one === 'string');
  return known.length > 0 ? known.join(' at ') : JSON.stringify(value);
}
