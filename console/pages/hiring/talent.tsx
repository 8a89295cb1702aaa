import { useMemo } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import { Act, Confirmed } from '../../parts/dialog.tsx';
import { saveFile } from '../../parts/files.ts';
import { objectIn } from '../../parts/json.ts';
import { Bones, type Mood, Notice, Page, Problem, Tag } from '../../parts/page.tsx';
import { Moment, spoken } from '../../parts/words.tsx';
import { useConsole, useIsAdmin } from '../../session/console-context.ts';
import { type DataOf, graphql } from '../../session/graphql.ts';
import { useQuery } from '../../session/use-query.ts';
import { History } from './history.tsx';
import { SamePerson } from './same-person.tsx';
import { evidenceOf, profileOf } from './talent-profile.ts';
import { Proposal } from './talent-proposal.tsx';
import { ShownProfile } from './talent-shown.tsx';
import { SourceText, Traces } from './talent-source.tsx';

const TALENT = graphql(`query($id: ID!) { talent(id: $id) {
  id name headline status problem profile evidence document engine text createdAt duplicateOf { id name }
  duplicates { id name createdAt } possibleDuplicates { id name createdAt }
  proposal { id fromTalentId createdAt changes { field before after } }
  version versions { version what profile changedByEmail changedAt } } }`);
const ERASE = graphql(`mutation($id: ID!) { eraseTalent(id: $id) }`);
const EXPORT = graphql(`mutation($id: ID!) { exportTalent(id: $id) }`);
const EXPORT_FILE = graphql(`mutation($talentId: ID!, $fileId: ID!) {
  exportTalentFile(talentId: $talentId, fileId: $fileId) }`);
export const TALENT_MOODS: Record<Talent['status'], Mood> = { PENDING: 'warn', READY: 'good', FAILED: 'bad' };
export const LOOK_WHILE_READING_MS = 1_500;

export type Talent = DataOf<typeof TALENT>['talent'];

export function useTalent(id: string) {
  const result = useQuery(TALENT, { id }, (data) =>
    data?.talent.status === 'PENDING' ? LOOK_WHILE_READING_MS : null,
  );
  return { talent: result.data?.talent ?? null, error: result.error, reload: result.reload };
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
          <TalentState talent={talent} />
          <SamePerson talent={talent} decided={reload} />
          {talent.proposal !== null && (
            <Proposal key={talent.proposal.id} proposal={talent.proposal} decided={reload} />
          )}
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

function TalentState({ talent }: { talent: Talent }) {
  const { status, problem, engine, createdAt } = talent;
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
        <Notice mood="warn">The CV is being read. This page updates automatically.</Notice>
      )}
      {problem !== null && <Notice mood="bad">{problem}</Notice>}
      {said.length > 0 && <Notice mood="warn">{said.join(' ')}</Notice>}
    </>
  );
}

function languageName(code: string): string {
  return new Intl.DisplayNames('en', { type: 'language' }).of(code) ?? code;
}

interface ExportedFile {
  readonly id: string;
  readonly contentBase64: string | null;
}

interface ExportedTalent {
  readonly files: ExportedFile[];
}

function TalentActions({ talent: { id, name } }: { talent: Talent }) {
  const { session } = useConsole();
  const isAdmin = useIsAdmin();
  const [, navigate] = useLocation();
  const save = async () => {
    const exported = (await session.request(EXPORT, { id })).exportTalent as ExportedTalent;
    // Files that are too large for one answer are requested one by one.
    for (const [at, { id: fileId, contentBase64 }] of exported.files.entries()) {
      if (contentBase64 !== null) continue;
      const { exportTalentFile } = await session.request(EXPORT_FILE, { talentId: id, fileId });
      exported.files[at] = exportTalentFile as ExportedFile;
    }
    saveFile(`talent-${id}.json`, 'application/json', JSON.stringify(exported, null, 2));
  };
  const erase = async () => {
    await session.request(ERASE, { id });
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
          says="Everything that is stored about them is deleted: profile, files, scores. This cannot be undone."
          work={erase}
          isBig
        />
      )}
    </>
  );
}
