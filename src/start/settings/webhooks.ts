import { readTextFile } from './servers.ts';
import type { SettingValues } from './settings.ts';

/** Outgoing webhooks. */

export interface AlertConfiguration {
  /** The private networks in which receivers of companies' alerts may be. */
  readonly privateNetworks: readonly string[] | 'all';
  readonly allowsHttp: boolean;
  readonly keepDays: number;
}

export function alertsOf(values: SettingValues, isProduction: boolean): AlertConfiguration {
  const networks = values.ALERT_PRIVATE_NETWORKS;
  const isOpen = !isProduction && networks.length === 0;
  return {
    privateNetworks: isOpen ? 'all' : networks,
    allowsHttp: isOpen || networks.length > 0,
    keepDays: values.ALERT_DELIVERIES_KEEP_DAYS,
  };
}

export interface CallHookConfiguration {
  /** Null if there is none. */
  readonly before: {
    readonly url: string;
    readonly timeoutMs: number;
    readonly onFailure: 'open' | 'closed';
    readonly maxBodyBytes: number;
  } | null;
  readonly afterUrl: string | null;
  /** Each request is signed with all of them. */
  readonly secrets: readonly string[];
  readonly keepDays: number;
}

const LEAST_SECRET = 32;

export function refuseHalfHooks(values: SettingValues, problems: string[]): void {
  const { CALL_HOOK_BEFORE_URL: before, CALL_HOOK_AFTER_URL: after, CALL_HOOK_SECRET_FILE: file } = values;
  if (values.CALL_HOOK_SECRET !== null && file !== null) {
    problems.push('CALL_HOOK_SECRET and CALL_HOOK_SECRET_FILE are both set: leave one out');
  }
  if (file !== null && readTextFile(file) === null) {
    problems.push(`CALL_HOOK_SECRET_FILE ${file} cannot be read, or is empty`);
  }
  if ((before !== null || after !== null) && secretOf(values).length < LEAST_SECRET) {
    problems.push(
      `CALL_HOOK_SECRET is missing, or shorter than ${LEAST_SECRET} characters: hooks are signed with it`,
    );
  }
  if ((values.CALL_HOOK_SECRET_ALSO?.length ?? LEAST_SECRET) < LEAST_SECRET) {
    problems.push(
      `CALL_HOOK_SECRET_ALSO is shorter than ${LEAST_SECRET} characters: hooks are signed with it too`,
    );
  }
}

export function callHooksOf(values: SettingValues): CallHookConfiguration {
  const { CALL_HOOK_BEFORE_URL: url } = values;
  return {
    before:
      url === null
        ? null
        : {
            url,
            timeoutMs: values.CALL_HOOK_TIMEOUT_MS,
            onFailure: values.CALL_HOOK_FAILURE,
            maxBodyBytes: values.CALL_HOOK_MAX_BODY_BYTES,
          },
    afterUrl: values.CALL_HOOK_AFTER_URL,
    secrets: [
      secretOf(values),
      ...(values.CALL_HOOK_SECRET_ALSO === null ? [] : [values.CALL_HOOK_SECRET_ALSO]),
    ],
    keepDays: values.CALL_HOOK_DELIVERIES_KEEP_DAYS,
  };
}

function secretOf({ CALL_HOOK_SECRET, CALL_HOOK_SECRET_FILE }: SettingValues): string {
  return (
    CALL_HOOK_SECRET ?? (CALL_HOOK_SECRET_FILE === null ? null : readTextFile(CALL_HOOK_SECRET_FILE)) ?? ''
  );
}
