import { PeriodFields, useFilters } from '../../operations/filters.tsx';
import { Facts } from '../../parts/facts.tsx';
import { Field } from '../../parts/form.tsx';
import { objectIn, textIn } from '../../parts/json.ts';
import { List, SearchedUntil } from '../../parts/list.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { Named, recordedField, When } from '../../parts/recorded.tsx';
import { Breakable, isUuid, spoken } from '../../parts/words.tsx';
import { graphql, type RowOf } from '../../session/graphql.ts';
import { endOf, useObjectNames } from '../../session/object-names.ts';
import { usePages } from '../../session/use-query.ts';

const AUDIT_LOG = graphql(`query($after: ID, $search: String, $from: DateTime, $to: DateTime) {
  auditLog(first: 30, after: $after, search: $search, from: $from, to: $to) {
    nodes { id action actorEmail clientAddress happenedAt objectKind objectId requestId details }
    pageInfo { hasNextPage endCursor } searchedUntil } }`);

type Entry = RowOf<typeof AUDIT_LOG>;

export function AuditLog() {
  const filters = useFilters();
  const { filter, typed, period } = filters;
  const isFiltered = ['search', 'from', 'to'].some((name) => filter(name) !== '');
  const pages = usePages(AUDIT_LOG, { search: filter('search'), ...period() });
  return (
    <Page
      title="Audit log"
      says="Who changed what, when and from where. Entries cannot be changed or deleted."
    >
      <Card>
        <div className="columns">
          <Field
            label="Search"
            hint="A person, an action, an address, an id or a value."
            {...typed('search')}
          />
          <PeriodFields {...filters} />
        </div>
        <List
          label="Audit log"
          rows={pages.nodes}
          error={pages.error}
          retry={pages.reload}
          more={pages}
          keyOf={({ id }) => id}
          nothing={isFiltered ? 'No such change' : 'No changes yet'}
          empty={
            <p>
              {isFiltered ? 'Use other words or another time.' : 'Every change by a person appears here.'}
            </p>
          }
          columns={[
            { name: 'When', show: ({ happenedAt }) => <When at={happenedAt} /> },
            {
              name: 'Who',
              show: ({ actorEmail }) => <Breakable text={actorEmail ?? 'the system'} after="@" />,
            },
            {
              name: 'What',
              show: ({ action }) => <span title={action}>{actionWords(action)}</span>,
            },
            { name: 'From', show: ({ clientAddress }) => <span className="mono">{clientAddress}</span> },
            { name: 'Details', show: (entry) => <Details entry={entry} /> },
          ]}
        />
        <SearchedUntil pages={pages} />
      </Card>
    </Page>
  );
}

/** Actions that are recorded under another name than the console has for them. */
const ACTIONS = new Map([['key.minted', 'API key created']]);

function actionWords(action: string): string {
  return ACTIONS.get(action) ?? spoken(action.replaceAll(/[.-]/g, '_'));
}

function Details({ entry }: { entry: Entry }) {
  const nameOf = useObjectNames();
  const { objectId, objectKind } = entry;
  const details = objectIn(entry.details);
  // The name recorded at the time, or else the present one.
  const then = textIn(details.name) || textIn(details.title) || textIn(details.email);
  const name = then || (isUuid(objectId) ? (nameOf(objectId) ?? endOf(objectId)) : objectId);
  return (
    <details>
      <summary>
        {spoken(objectKind.replaceAll('-', '_'))} <span className="quiet">{name}</span>
      </summary>
      <Facts
        facts={[
          ...Object.entries(details).map(([field, value]) => recordedField(field, value)),
          ['Object', <Named key="object" id={objectId} />],
          ['Request id', <code key="request">{entry.requestId}</code>],
        ]}
      />
    </details>
  );
}
