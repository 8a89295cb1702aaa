import { Notice } from '../../parts/page.tsx';
import { counted, credits } from '../../parts/words.tsx';
import { graphql } from '../../session/graphql.ts';
import { useQuery } from '../../session/use-query.ts';

const CHARGE = graphql(`query($filter: CallFilter) { calls(filter: $filter, first: 1) {
  nodes { promptTokens completionTokens credits } } }`);
/** A call that was stopped is recorded when the gateway has noticed it. */
const LOOK_EVERY_MS = 1_000;

/** What the gateway has counted and charged for a call. */
export function Charge({ requestId }: { requestId: string }) {
  const { data } = useQuery(CHARGE, { filter: { requestId } }, (now) =>
    now?.calls.nodes[0] === undefined ? LOOK_EVERY_MS : null,
  );
  const call = data?.calls.nodes[0];
  if (call === undefined) return null;
  const { promptTokens, completionTokens } = call;
  const tokens =
    promptTokens === null
      ? ''
      : `${counted(promptTokens, 'prompt token')}, ${counted(completionTokens ?? 0, 'completion token')}, `;
  return <Notice>{`${tokens}${credits(call.credits)} credits`}</Notice>;
}
