import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { Act, Confirmed, Dialog } from '../parts/dialog.tsx';
import { Area, Form } from '../parts/form.tsx';
import { List } from '../parts/list.tsx';
import { Card, type Mood, Notice, Page, Tag } from '../parts/page.tsx';
import { saveFile } from '../parts/save-file.ts';
import { Moment, spoken } from '../parts/words.tsx';
import { useConsole, useSessionState } from '../session/console-context.ts';
import { graphql } from '../session/graphql.ts';
import { usePages } from '../session/use-asking.ts';
import { CvDrop } from './cv-drop.tsx';

export interface Talent {
  readonly id: string;
  readonly name: string | null;
  readonly headline: string | null;
  readonly email: string | null;
  readonly status: 'PENDING' | 'READY' | 'FAILED';
  readonly problem: string | null;
  readonly profile: unknown;
  readonly evidence: unknown;
  readonly createdAt: string;
}

const TALENTS = graphql(`query($after: ID) { talents(first: 20, after: $after) {
  nodes { id name headline email status problem profile evidence createdAt }
  pageInfo { hasNextPage endCursor } } }`);
const CREATE = graphql(`mutation($input: TalentInput!) { createTalent(input: $input) { id } }`);
const ERASE = graphql(`mutation($id: ID!) { eraseTalent(id: $id) }`);
const EXPORT = graphql(`mutation($id: ID!) { exportTalent(id: $id) }`);
const MOODS: Record<Talent['status'], Mood> = { PENDING: 'warn', READY: 'good', FAILED: 'bad' };
const LOOK_WHILE_READING_MS = 1_500;

export function Talents() {
  const { session } = useConsole();
  const pages = usePages<Talent>(TALENTS, 'talents');
  const [shown, setShown] = useState<Talent | null>(null);
  const pending = pages.nodes?.filter(({ status }) => status === 'PENDING').length ?? 0;
  const { reload } = pages;
  useEffect(() => {
    if (pending === 0) return;
    const timer = setInterval(() => void reload(), LOOK_WHILE_READING_MS);
    return () => clearInterval(timer);
  }, [pending, reload]);
  const add = async (input: object) => {
    await session.ask(CREATE, { input });
    await reload();
  };
  return (
    <Page
      title="Talents"
      says="People and their CVs. Each is read into a profile, and matched with your active jobs."
    >
      {pending > 0 && (
        <Notice mood="warn">
          {pending === 1 ? 'One CV is being read.' : `${pending} CVs are being read.`} The list follows by
          itself.
        </Notice>
      )}
      <Card title="Your talents">
        <List
          label="Talents"
          rows={pages.nodes}
          error={pages.error}
          retry={reload}
          more={pages}
          keyOf={({ id }) => id}
          empty={<p>Drop a CV below: PDF, DOCX, HTML or plain text.</p>}
          columns={[
            { name: 'Person', show: (talent) => <PersonName {...talent} /> },
            { name: 'Status', show: ({ status }) => <Tag mood={MOODS[status]}>{spoken(status)}</Tag> },
            { name: 'Added', show: ({ createdAt }) => <Moment at={createdAt} /> },
            {
              name: 'Do',
              show: (talent) => <TalentActions talent={talent} show={setShown} changed={reload} />,
            },
          ]}
        />
      </Card>
      <div className="halves">
        <Card title="Upload CVs">
          <CvDrop add={(file) => add({ file })} />
        </Card>
        <Card title="Or paste one">
          <Form submit="Read it" clears send={({ text }) => add({ text: text('text') })}>
            <Area label="Text of the CV" name="text" rows={8} required />
          </Form>
        </Card>
      </div>
      {shown !== null && <Found talent={shown} close={() => setShown(null)} />}
    </Page>
  );
}

function PersonName({ name, headline, email, problem }: Talent) {
  return (
    <>
      <div>{name ?? 'Without a name yet'}</div>
      <span className="quiet small">{[headline, email].filter((one) => one !== null).join(' · ')}</span>
      {problem !== null && <div className="small">{problem}</div>}
    </>
  );
}

interface TalentActionsProps {
  readonly talent: Talent;
  show(talent: Talent): void;
  changed(): Promise<void>;
}

function TalentActions({ talent, show, changed }: TalentActionsProps) {
  const { session } = useConsole();
  const state = useSessionState();
  const isAdmin = state.status === 'in' && state.person.role === 'COMPANY_ADMIN';
  const { id, name, status } = talent;
  const save = async () => {
    const { exportTalent } = await session.ask<{ exportTalent: unknown }>(EXPORT, { id });
    saveFile(`talent-${id}.json`, 'application/json', JSON.stringify(exportTalent, null, 2));
  };
  const erase = async () => {
    await session.ask(ERASE, { id });
    await changed();
  };
  return (
    <div className="row">
      {status === 'READY' && (
        <button type="button" className="little" onClick={() => show(talent)}>
          What was found
        </button>
      )}
      <Link href={`/matches?talent=${id}`}>Matches</Link>
      {isAdmin && <Act name="Export" work={save} />}
      {isAdmin && (
        <Confirmed
          name="Erase"
          title={`Erase ${name ?? 'this person'}?`}
          says="Everything that is kept of them goes: profile, files, scores. This cannot be undone."
          work={erase}
        />
      )}
    </div>
  );
}

function Found({ talent, close }: { talent: Talent; close(): void }) {
  return (
    <Dialog title={talent.name ?? 'What was found'} close={close}>
      <h3>Profile</h3>
      <pre>{JSON.stringify(talent.profile, null, 2)}</pre>
      <details>
        <summary>Where each value stands in the text</summary>
        <pre>{JSON.stringify(talent.evidence, null, 2)}</pre>
      </details>
      <div>
        <button type="button" className="main" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
