import { useState } from 'react';
import { Dialog } from '../parts/dialog.tsx';
import { Choice, Field, Form } from '../parts/form.tsx';
import { List, RowButton } from '../parts/list.tsx';
import { Card, InOrder, Page, Tag } from '../parts/page.tsx';
import { count, Moment } from '../parts/words.tsx';
import { graphql, type RowOf } from '../session/graphql.ts';
import { useQuery } from '../session/use-query.ts';
import { HoursChoice, useFilters } from './filters.tsx';
import { type LinesFilter, LogLines } from './log-lines.tsx';

const GROUPS = graphql(`query($level: LogLevel, $hours: Int) { errorGroups(level: $level, hours: $hours) {
  service message count firstSeenAt lastSeenAt sampleRequestId sampleReason } }`);
const LOOK_EVERY_MS = 5_000;
const LONGEST_SEARCH = 200;

type Group = RowOf<typeof GROUPS>;

/** A call's own id is in the context of its lines; a request id has an index. */
function linesOf(id: string): LinesFilter {
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(id) ? { contains: id } : { requestId: id };
}

export function Errors() {
  const { filter, hours, setFilter } = useFilters();
  const level = filter('level') === 'WARN' ? 'WARN' : 'ERROR';
  const requestId = filter('request');
  return (
    <Page
      title="Errors"
      says="Errors and warnings of all processes, grouped by message, last seen first."
      actions={
        <>
          <Choice label="Level" value={level} onChange={(event) => setFilter('level', event.target.value)}>
            <option value="ERROR">Errors</option>
            <option value="WARN">Warnings</option>
          </Choice>
          <HoursChoice hours={hours} change={(next) => setFilter('hours', String(next))} />
        </>
      }
    >
      <InOrder>
        <Card>
          <Groups level={level} hours={hours} showRequest={(id) => setFilter('request', id)} />
        </Card>
        <Card title="One request">
          <Form submit="Find" send={async ({ text }) => setFilter('request', text('request'))}>
            <Field
              key={requestId}
              label="Request id"
              hint="The x-request-id of a response, or the id of a call."
              name="request"
              defaultValue={requestId}
              maxLength={LONGEST_SEARCH}
              spellCheck={false}
            />
          </Form>
          {requestId !== '' && <LogLines filter={linesOf(requestId)} />}
        </Card>
      </InOrder>
    </Page>
  );
}

interface GroupsProps {
  readonly level: 'ERROR' | 'WARN';
  readonly hours: number;
  showRequest(id: string): void;
}

function Groups({ level, hours, showRequest }: GroupsProps) {
  const result = useQuery(GROUPS, { level, hours }, LOOK_EVERY_MS);
  const [shown, setShown] = useState<Group | null>(null);
  return (
    <>
      <List
        label="Errors"
        rows={result.data?.errorGroups ?? null}
        isStale={result.isStale}
        error={result.error}
        retry={result.reload}
        keyOf={({ service, message }) => `${service} ${message}`}
        nameOf={({ message }) => message}
        nothing={level === 'ERROR' ? 'No errors' : 'No warnings'}
        empty={<p>Nothing of this kind was logged in this time.</p>}
        columns={[
          { name: 'Last seen', show: ({ lastSeenAt }) => <Moment at={lastSeenAt} /> },
          {
            name: 'Service',
            show: ({ service }) =>
              service === '' ? <span className="quiet">shared</span> : <Tag>{service}</Tag>,
          },
          { name: 'What', show: (group) => <What {...group} /> },
          { name: 'Times', isNumber: true, show: (group) => count(group.count) },
          { name: 'First seen', show: ({ firstSeenAt }) => <Moment at={firstSeenAt} /> },
          {
            name: 'Actions',
            show: (group) => (
              <div className="row">
                <RowButton onClick={() => setShown(group)}>Lines</RowButton>
                {group.sampleRequestId !== null && (
                  <RowButton onClick={() => showRequest(group.sampleRequestId ?? '')}>Last request</RowButton>
                )}
              </div>
            ),
          },
        ]}
      />
      {shown !== null && (
        <Dialog title={shown.message} isWide close={() => setShown(null)}>
          <LogLines filter={{ minLevel: level, contains: shown.message.slice(0, LONGEST_SEARCH) }} />
          <div>
            <button type="button" className="main" onClick={() => setShown(null)}>
              Close
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}

function What({ message, sampleReason }: Group) {
  return (
    <>
      <div>{message}</div>
      {sampleReason !== null && <div className="quiet small said">{sampleReason}</div>}
    </>
  );
}
