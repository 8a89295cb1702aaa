import { Link } from 'wouter';
import { Confirmed } from '../../parts/dialog.tsx';
import { Notice } from '../../parts/page.tsx';
import { Moment } from '../../parts/words.tsx';
import { useConsole, useIsAdmin } from '../../session/console-context.ts';
import { graphql } from '../../session/graphql.ts';

const MERGE = graphql(`mutation($id: ID!, $into: ID!) { mergeTalents(id: $id, into: $into) { id } }`);
const SEPARATE = graphql(`mutation($id: ID!, $from: ID!) { separateTalents(id: $id, from: $from) { id } }`);

interface OtherTalent {
  readonly id: string;
  readonly name: string | null;
  readonly createdAt: string;
}

interface SamePersonProps {
  readonly talent: {
    readonly id: string;
    readonly duplicateOf: Pick<OtherTalent, 'id' | 'name'> | null;
    readonly duplicates: readonly OtherTalent[];
    readonly possibleDuplicates: readonly OtherTalent[];
  };
  decided(): Promise<void>;
}

/** Who was taken for the same person, and who may be: an admin says which. */
export function SamePerson({ talent, decided }: SamePersonProps) {
  const { session } = useConsole();
  const isAdmin = useIsAdmin();
  const { id, duplicateOf, duplicates, possibleDuplicates } = talent;
  const merge = (into: string) => async () => {
    await session.request(MERGE, { id, into });
    await decided();
  };
  const separate = (duplicate: string, from: string) => async () => {
    await session.request(SEPARATE, { id: duplicate, from });
    await decided();
  };
  const separation = (duplicate: string, from: string) => (
    <Confirmed
      name="Different people"
      title="Are they different people?"
      says="Each is a talent of their own then. The one that is matched has the profile from before the other CV came in; changes since then are discarded."
      work={separate(duplicate, from)}
    />
  );
  return (
    <>
      {duplicateOf !== null && (
        <Notice>
          The same person as <Person of={duplicateOf} />, who was here before and is the one that is matched.{' '}
          {isAdmin && separation(id, duplicateOf.id)}
        </Notice>
      )}
      {duplicates.map((one) => (
        <Notice key={one.id}>
          <Person of={one} />, added <Moment at={one.createdAt} />, is a duplicate of this talent.{' '}
          {isAdmin && separation(one.id, id)}
        </Notice>
      ))}
      {possibleDuplicates.map((one) => (
        <Notice key={one.id} mood="warn">
          <Person of={one} /> has the same e-mail address or telephone number.{' '}
          {!isAdmin && 'An admin decides.'}
          {isAdmin && (
            <>
              <Confirmed
                name="Same person"
                title="Are they the same person?"
                says={`${one.name ?? 'The other talent'} is matched instead of this one. What this CV has besides is proposed there. Erasing one erases both.`}
                danger={false}
                work={merge(one.id)}
              />{' '}
              <Confirmed
                name="Different people"
                title="Are they different people?"
                says="They are not shown as possible duplicates any more."
                danger={false}
                work={separate(id, one.id)}
              />
            </>
          )}
        </Notice>
      ))}
    </>
  );
}

function Person({ of: { id, name } }: { of: Pick<OtherTalent, 'id' | 'name'> }) {
  return <Link href={`/talents/${id}`}>{name ?? 'an unnamed talent'}</Link>;
}
