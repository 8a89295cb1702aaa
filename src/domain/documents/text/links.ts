import type { Found } from './found.ts';

const LINK =
  /(?:https?:\/\/|www\.)[^\s<>"'()|,;]{3,300}|(?<![@\p{L}\d.-])(?:[a-z]{2,3}\.)?(?:linkedin\.com|github\.com|gitlab\.com|stackoverflow\.com|behance\.net|dribbble\.com|medium\.com|xing\.com|twitter\.com|x\.com|kaggle\.com|bitbucket\.org|researchgate\.net|facebook\.com|instagram\.com|youtube\.com|scholar\.google\.com|about\.me|indeed\.com\/r)\/[^\s<>"'()|,;]{1,200}/giu;
const BARE_SITE =
  /(?<![@\p{L}\d.-])(?:[a-z\d-]{2,40}\.)+(?:com|org|net|io|dev|me|de|co|ai|app|info)(?:\/[^\s<>"'()|,;]{0,120})?(?![\p{L}\d@.-])/giu;

const NETWORKS: readonly (readonly [RegExp, string])[] = [
  [/linkedin\./i, 'LinkedIn'],
  [/github\./i, 'GitHub'],
  [/gitlab\./i, 'GitLab'],
  [/stackoverflow\./i, 'Stack Overflow'],
  [/behance\./i, 'Behance'],
  [/dribbble\./i, 'Dribbble'],
  [/medium\./i, 'Medium'],
  [/xing\./i, 'XING'],
  [/twitter\.|\/\/x\.com|^x\.com/i, 'Twitter'],
  [/kaggle\./i, 'Kaggle'],
  [/bitbucket\./i, 'Bitbucket'],
  [/researchgate\./i, 'ResearchGate'],
  [/facebook\./i, 'Facebook'],
  [/instagram\./i, 'Instagram'],
  [/youtube\./i, 'YouTube'],
  [/indeed\./i, 'Indeed'],
];

/** Names that end like a site and are technologies. */
const NO_SITES = /^(?:asp|ado|vb|vs|ml|socket|monday|salesforce|node|booking|amazon)\.(?:net|io|com|js)$/i;

export interface Link {
  readonly url: string;
  readonly network: string | null;
  readonly username: string | null;
}

export function findLinks(text: string): Found<Link>[] {
  const found: Found<Link>[] = [];
  const add = (start: number, raw: string) => {
    const url = raw.replace(/[.,:;!?\]}]+$/, '');
    if (url.length < 5 || found.length >= 50) return;
    if (found.some((one) => one.start < start + url.length && start < one.end)) return;
    const network = NETWORKS.find(([pattern]) => pattern.test(url))?.[1] ?? null;
    found.push({
      start,
      end: start + url.length,
      value: { url, network, username: usernameIn(url, network) },
    });
  };
  for (const match of text.matchAll(LINK)) add(match.index, match[0]);
  for (const match of text.slice(0, 4000).matchAll(BARE_SITE)) {
    if (!NO_SITES.test(match[0]) && /[a-z]/.test(match[0])) add(match.index, match[0]);
  }
  return found.sort((one, other) => one.start - other.start);
}

function usernameIn(url: string, network: string | null): string | null {
  if (network === null) return null;
  const path = url.replace(/^(?:https?:\/\/)?[^/]+\/?/i, '').split(/[?#]/)[0] ?? '';
  const parts = path
    .split('/')
    .filter((part) => part !== '' && !/^(?:in|pub|profile|users?|r|channel)$/i.test(part));
  const last = network === 'LinkedIn' || network === 'GitHub' ? parts[0] : parts.at(-1);
  return last === undefined || last === '' ? null : last.replace(/^@/, '');
}
