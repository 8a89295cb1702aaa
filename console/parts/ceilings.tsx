import { count } from './words.tsx';

export const CEILING_NAMES = [
  'requestsPerMinute',
  'tokensPerMinute',
  'callsInFlight',
  'documentsPerDay',
  'storageMegabytes',
  'apiKeys',
  'members',
] as const;

export type CeilingName = (typeof CEILING_NAMES)[number];
/** Null is no ceiling. */
export type CeilingAmounts = Readonly<Record<CeilingName, number | null>>;

export const CEILING_WORDS: Readonly<Record<CeilingName, string>> = {
  requestsPerMinute: 'Requests a minute, all keys',
  tokensPerMinute: 'Tokens a minute, all keys',
  callsInFlight: 'Calls in flight, all keys',
  documentsPerDay: 'Documents in 24 hours',
  storageMegabytes: 'Megabytes of CVs and postings',
  apiKeys: 'Live API keys',
  members: 'Members and open invitations',
};

/** The use of each ceiling; without `showsAll` only of those that are set. */
export function CeilingUse(props: {
  ceilings: CeilingAmounts & { readonly use: CeilingAmounts };
  showsAll?: boolean;
}) {
  const { ceilings, showsAll = false } = props;
  const names = CEILING_NAMES.filter((name) => showsAll || ceilings[name] !== null);
  return (
    <dl className="facts">
      {names.map((name) => (
        <div key={name}>
          <dt>{CEILING_WORDS[name]}</dt>
          <dd>
            {ceilings.use[name] === null ? '—' : count(ceilings.use[name])} of{' '}
            {ceilings[name] === null ? 'no ceiling' : count(ceilings[name])}
            {isReached(ceilings, name) && <strong> Reached</strong>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function isReached(
  { use, ...ceilings }: CeilingAmounts & { readonly use: CeilingAmounts },
  name: CeilingName,
): boolean {
  const [ceiling, used] = [ceilings[name], use[name]];
  return ceiling !== null && used !== null && used >= ceiling;
}
