import { Tag } from '../parts/page.tsx';
import { counted, duration, Moment, secondsUntil } from '../parts/words.tsx';

export interface TargetHealth {
  readonly state: 'CLOSED' | 'OPEN' | 'HALF_OPEN';
  readonly coolingStatus: number | null;
  readonly coolingUntil: string | null;
  readonly recentFailures: number;
  readonly lastFailureReason: string | null;
  readonly lastFailureAt: string | null;
}

/** The state of the provider's breaker, whether the target is cooling down, and its failures in the last 24 hours. */
export function Health({ health, isLong = false }: { health: TargetHealth | null; isLong?: boolean }) {
  if (health === null) return null;
  const { state, coolingStatus, coolingUntil, recentFailures, lastFailureReason, lastFailureAt } = health;
  const isWell = state === 'CLOSED' && coolingStatus === null && lastFailureReason === null;
  if (isWell) return isLong ? <p className="small quiet">No failure in the last 24 hours.</p> : null;
  const Place = isLong ? 'p' : 'div';
  return (
    <Place className="small">
      {state !== 'CLOSED' && <Tag mood="bad">breaker {state === 'OPEN' ? 'open' : 'half open'}</Tag>}{' '}
      {coolingStatus !== null && coolingUntil !== null && (
        <Tag mood="warn">
          cools after {coolingStatus}, {duration(secondsUntil(coolingUntil))} left
        </Tag>
      )}{' '}
      {lastFailureReason !== null && (
        <>
          {counted(recentFailures, 'failure')} in 24 hours, last failure {lastFailureReason},{' '}
          <Moment at={lastFailureAt} />
        </>
      )}
    </Place>
  );
}
