import { Facts } from '../../parts/facts.tsx';
import { objectIn } from '../../parts/json.ts';
import { List } from '../../parts/list.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { Moment, spoken } from '../../parts/words.tsx';
import { graphql } from '../../session/graphql.ts';
import { usePages } from '../../session/use-query.ts';

const AUDIT_LOG = graphql(`query($after: ID) { auditLog(first: 30, after: $after) {
  nodes { id action actorEmail clientAddress happenedAt objectKind objectId requestId details }
  pageInfo { hasNextPage endCursor } } }`);

export function AuditLog() {
  const pages = usePages(AUDIT_LOG);
  return (
    <Page title="Audit log" says="Who changed what, when and from where. It only ever grows.">
      <Card>
        <List
          label="Audit log"
          rows={pages.nodes}
          error={pages.error}
          retry={pages.reload}
          more={pages}
          keyOf={({ id }) => id}
          empty={<p>Every change by a person appears here.</p>}
          columns={[
            { name: 'When', show: ({ happenedAt }) => <Moment at={happenedAt} /> },
            { name: 'Who', show: ({ actorEmail }) => actorEmail ?? 'the system' },
            {
              name: 'What',
              show: ({ action }) => <span title={action}>{spoken(action.replaceAll(/[.-]/g, '_'))}</span>,
            },
            { name: 'From', show: ({ clientAddress }) => <span className="mono">{clientAddress}</span> },
            {
              name: 'Details',
              show: (entry) => (
                <details>
                  <summary>
                    {entry.objectKind} <span className="mono">…{entry.objectId.slice(-6)}</span>
                  </summary>
                  <Facts
                    facts={[
                      ...Object.entries(objectIn(entry.details)).map(
                        ([name, value]) => [spoken(name), wordsOf(value)] as const,
                      ),
                      ['Object', <code key="object">{entry.objectId}</code>],
                      ['Request id', <code key="request">{entry.requestId}</code>],
                    ]}
                  />
                </details>
              ),
            },
          ]}
        />
      </Card>
    </Page>
  );
}

/** What was recorded of a change, in words: lists by commas, and what lies deeper as name and value. */
function wordsOf(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return value.map(wordsOf).join(', ');
  return Object.entries(value)
    .map(([name, inside]) => `${spoken(name)}: ${wordsOf(inside)}`)
    .join('; ');
}
