import { graphql } from '../session/graphql.ts';
import { useQuery } from '../session/use-query.ts';

const TARGETS = graphql(`{ modelAliases(includeRetired: true) { targets { id provider baseUrl model } } }`);

interface Target {
  readonly id: string;
  readonly provider: string;
  readonly baseUrl: string;
  readonly model: string;
}

/** For super admins; null while they are loading. */
export function useTargets(): readonly Target[] | null {
  const { data, error } = useQuery(TARGETS);
  if (data === null) return error === null ? null : [];
  return data.modelAliases.flatMap(({ targets }) => targets ?? []);
}

/** The model and the provider of a target, or its id if it was removed. */
export function TargetName({ id, targets }: { id: string; targets: readonly Target[] | null }) {
  const known = targets?.find((one) => one.id === id);
  if (id === 'embedded') return 'the embedded models';
  if (known === undefined) return <code className="quiet">{id}</code>;
  return (
    <>
      <code>{known.model}</code> of {known.provider}
      <div className="quiet small">{known.baseUrl}</div>
    </>
  );
}
