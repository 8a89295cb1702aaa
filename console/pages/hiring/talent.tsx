import { useMemo } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import { Act, Confirmed } from '../../parts/dialog.tsx';
import { Bones, type Mood, Notice, Page, Problem, Tag } from '../../parts/page.tsx';
import { saveFile } from '../../parts/save-file.ts';
import { Moment, spoken } from '../../parts/words.tsx';
import { useConsole, useIsAdmin } from '../../session/console-context.ts';
import { graphql } from '../../session/graphql.ts';
import { useQuery } from '../../session/use-query.ts';
import { History } from './history.tsx';
import { evidenceOf, objectIn, profileOf } from './talent-profile.ts';
import { ShownProfile } from './talent-shown.tsx';
import { SourceText, Traces } from './talent-source.tsx';

export interface OneTalent {
  readonly id: string;
  readonly name: string | null;
  readonly headline: string | null;
  readonly status: TalentStatus;
  readonly problem: string | null;
  readonly profile: unknown;
  readonly evidence: unknown;
  readonly document: unknown;
  readonly engine: string | null;
  readonly text: string | null;
  readonly createdAt: string;
  readonly duplicateOf: { readonly id: string; readonly name: string | null } | null;
  readonly versions: readonly {
    readonly version: number;
    readonly what: string;
    readonly profile: unknown;
    readonly changedByEmail: string | null;
    readonly changedAt: string;
  }[];
}

export type TalentStatus = 'PENDING' | 'READY' | 'FAILED';

const TALENT = graphql(`query($id: ID!) { talent(id: $id) {
  id name headline status problem profile evidence document engine text createdAt duplicateOf { id name }
  versions { version what profile changedByEmail changedAt } } }`);
const ERASE = graphql(`mutation($id: ID!) { eraseTalent(id: $id) }`);
const EXPORT = graphql(`mutation($id: ID!) { exportTalent(id: $id) }`);
export const TALENT_MOODS: Record<TalentStatus, Mood> = { PENDING: 'warn', READY: 'good', FAILED: 'bad' };
const LOOK_WHILE_READING_MS = 1_500;

export function useTalent(id: string) {
  const asked = useQuery<{ talent: OneTalent }>(TALENT, { id }, (data) =>
    data?.talent.status === 'PENDING' ? LOOK_WHILE_READING_MS : null,
  );
  return { talent: asked.data?.talent ?? null, error: asked.error, reload: asked.reload };
}

export function TalentPage() {
  const { id } = useParams<{ id: string }>();
  const { talent, error, reload } = useTalent(id);
  const evidence = useMemo(() => evidenceOf(talent?.evidence), [talent?.evidence]);
  return (
    <Page
      title={talent === null ? 'Talent' : (talent.name ?? 'Without a name yet')}
      says={talent?.headline ?? ''}
      actions={talent !== null && <TalentActions talent={talent} />}
      back={{ href: '/talents', name: 'Talents' }}
    >
      <Problem error={error} retry={reload} />
      {talent === null ? (
        error === null && <Bones lines={8} />
      ) : (
        <>
          <Standing talent={talent} />
          <Traces evidence={evidence}>
            <div className="beside">
              {talent.profile !== null && (
                <ShownProfile profile={profileOf(talent.profile)} whole={talent.profile} />
              )}
              <SourceText text={talent.text} evidence={evidence} />
            </div>
          </Traces>
          <History
            versions={talent.versions.map((one) => ({ ...one, after: one.profile }))}
            worker="the CV reader"
          />
        </>
      )}
    </Page>
  );
}

function Standing({ talent }: { talent: OneTalent }) {
  const { status, problem, duplicateOf, engine, createdAt } = talent;
  const { language, warnings } = objectIn(talent.document);
  const said = Array.isArray(warnings) ? warnings.filter((one) => typeof one === 'string') : [];
  return (
    <>
      <p className="row small quiet">
        <Tag mood={TALENT_MOODS[status]}>{spoken(status)}</Tag>
        <span>
          Added <Moment at={createdAt} />
          {engine !== null && ` · read by ${engine === 'model' ? 'a model' : 'the embedded engine'}`}
          {typeof language === 'string' && language !== 'und' && ` · in ${languageName(language)}`}
        </span>
      </p>
      {status === 'PENDING' && (
        <Notice mood="warn">The CV is being read. This page follows by itself.</Notice>
      )}
      {problem !== null && <Notice mood="bad">{problem}</Notice>}
      {said.length > 0 && <Notice mood="warn">{said.join(' ')}</Notice>}
      {duplicateOf !== null && (
        <Notice>
          The same person as <Link href={`/talents/${duplicateOf.id}`}>{duplicateOf.name ?? 'somebody'}</Link>
          , who was here before and is the one that is matched.
        </Notice>
      )}
    </>
  );
}

function languageName(code: string): string {
  return new Intl.DisplayNames('en', { type: 'language' }).of(code) ?? code;
}

function TalentActions({ talent: { id, name } }: { talent: OneTalent }) {
  const { session } = useConsole();
  const isAdmin = useIsAdmin();
  const [, navigate] = useLocation();
  const save = async () => {
    const { exportTalent } = await session.ask<{ exportTalent: unknown }>(EXPORT, { id });
    saveFile(`talent-${id}.json`, 'application/json', JSON.stringify(exportTalent, null, 2));
  };
  const erase = async () => {
    await session.ask(ERASE, { id });
    navigate('/talents', { replace: true });
  };
  return (
    <>
      <Link className="button" href={`/talents/${id}/edit`}>
        Edit
      </Link>
      <Link className="button" href={`/matches?talent=${id}`}>
        Matches
      </Link>
      {isAdmin && <Act name="Export" work={save} isBig />}
      {isAdmin && (
        <Confirmed
          name="Erase"
          title={`Erase ${name ?? 'this person'}?`}
          says="Everything that is kept of them goes: profile, files, scores. This cannot be undone."
          work={erase}
          isBig
        />
      )}
    </>
  );
}
