import { useState } from 'react';
import { useSearchParams } from 'wouter';
import { Dialog } from '../parts/dialog.tsx';
import { Choice, Field, Form } from '../parts/form.tsx';
import { List } from '../parts/list.tsx';
import { Card, Page, Tag } from '../parts/page.tsx';
import { count, Moment } from '../parts/words.tsx';
import { graphql } from '../session/graphql.ts';
import { useQuery } from '../session/use-query.ts';
import { HoursChoice } from './hours-choice.tsx';
import { type LinesWanted, LogLines } from './log-lines.tsx';

interface Group {
  readonly service: string;
  readonly message: string;
  readonly count: number;
  readonly firstSeenAt: string;
  readonly lastSeenAt: string;
  readonly sampleRequestId: string | null;
  readonly sampleReason: string | null;
}

const GROUPS = graphql(`query($level: LogLevel, $hours: Int) { errorGroups(level: $level, hours: $hours) {
  service message count firstSeenAt lastSeenAt sampleRequestId sampleReason } }`);
const LOOK_EVERY_MS = 5_000;
const LONGEST_SEARCH = 200;

/** A call’s own id stands in the context of its lines; a request’s has an index. */
function linesOf(id: string): LinesWanted {
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(id) ? { contains: id } : { requestId: id };
}

/** What is looked at stands in the address, so that it can be sent to somebody. */
export function Errors() {
  const [wanted, setWanted] = useSearchParams();
  const level = wanted.get('level') === 'WARN' ? 'WARN' : 'ERROR';
  const hours = Number(wanted.get('hours') ?? 24);
  const requestId = wanted.get('request') ?? '';
  const want = (name: string, value: string) =>
    setWanted((now) => {
      const next = new URLSearchParams(now);
      if (value === '') next.delete(name);
      else next.set(name, value);
      return next;
    });
  return (
    <Page
      title="Errors"
      says="What all processes logged as an error or a warning: lines that say the same are one row, the last seen first."
      actions={
        <>
          <Choice label="Level" value={level} onChange={(event) => want('level', event.target.value)}>
            <option value="ERROR">Errors</option>
            <option value="WARN">Warnings</option>
          </Choice>
          <HoursChoice hours={hours} change={(next) => want('hours', String(next))} />
        </>
      }
    >
      <Card>
        <Groups level={level} hours={hours} showRequest={(id) => want('request', id)} />
      </Card>
      <Card title="One request">
        <Form submit="Look" send={async ({ text }) => want('request', text('request'))}>
          <Field
            key={requestId}
            label="Request id"
            hint="As it stands in an answer’s x-request-id, or the id of a call."
            name="request"
            defaultValue={requestId}
            maxLength={LONGEST_SEARCH}
            spellCheck={false}
          />
        </Form>
        {requestId !== '' && <LogLines wanted={linesOf(requestId)} />}
      </Card>
    </Page>
  );
}

interface GroupsProps {
  readonly level: 'ERROR' | 'WARN';
  readonly hours: number;
  showRequest(id: string): void;
}

function Groups({ level, hours, showRequest }: GroupsProps) {
  const asked = useQuery<{ errorGroups: readonly Group[] }>(GROUPS, { level, hours }, LOOK_EVERY_MS);
  const [shown, setShown] = useState<Group | null>(null);
  return (
    <>
      <List
        label="Errors"
        rows={asked.data?.errorGroups ?? null}
        error={asked.error}
        retry={asked.reload}
        keyOf={({ service, message }) => `${service} ${message}`}
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
            name: 'Do',
            show: (group) => (
              <div className="row">
                <button type="button" className="little" onClick={() => setShown(group)}>
                  Lines
                </button>
                {group.sampleRequestId !== null && (
                  <button
                    type="button"
                    className="little"
                    onClick={() => showRequest(group.sampleRequestId ?? '')}
                  >
                    Last request
                  </button>
                )}
              </div>
            ),
          },
        ]}
      />
      {shown !== null && (
        <Dialog title={shown.message} isWide close={() => setShown(null)}>
          <LogLines wanted={{ minLevel: level, contains: shown.message.slice(0, LONGEST_SEARCH) }} />
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
