import { readTextFile } from './servers.ts';
import type { SettingValues } from './settings.ts';

export interface OidcConfiguration {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string | null;
  readonly roleClaim: string | null;
  /** The company of each domain; null if only existing accounts may sign in. */
  readonly domains: Readonly<Record<string, string | null>>;
  readonly roles: Readonly<Record<string, 'MEMBER' | 'COMPANY_ADMIN' | 'SUPER_ADMIN'>>;
  readonly name: string;
}

/** Sign-in must be configured completely or not at all. */
export function refuseHalfOidc(values: SettingValues, problems: string[]): void {
  const { OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, OIDC_CLIENT_SECRET_FILE } = values;
  if (OIDC_ISSUER === null) {
    if (OIDC_CLIENT_ID !== null) problems.push('OIDC_ISSUER is missing: OIDC_CLIENT_ID needs it');
    return;
  }
  if (OIDC_CLIENT_ID === null) problems.push('OIDC_CLIENT_ID is missing: OIDC_ISSUER needs it');
  if (Object.keys(values.OIDC_DOMAINS).length === 0) {
    problems.push('OIDC_DOMAINS is missing: say whose addresses may sign in, as acme.example=COMPANY_ID');
  }
  if (Object.keys(values.OIDC_ROLES).length > 0 && values.OIDC_ROLE_CLAIM === null) {
    problems.push('OIDC_ROLE_CLAIM is missing: OIDC_ROLES needs the claim whose values it maps');
  }
  if (OIDC_CLIENT_SECRET !== null && OIDC_CLIENT_SECRET_FILE !== null) {
    problems.push('OIDC_CLIENT_SECRET and OIDC_CLIENT_SECRET_FILE are both set: leave one out');
  }
  if (OIDC_CLIENT_SECRET_FILE !== null && readTextFile(OIDC_CLIENT_SECRET_FILE) === null) {
    problems.push(`OIDC_CLIENT_SECRET_FILE ${OIDC_CLIENT_SECRET_FILE} cannot be read, or is empty`);
  }
}

export function oidcOf(values: SettingValues): OidcConfiguration | null {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET_FILE: file } = values;
  if (issuer === null || clientId === null) return null;
  const domains = Object.entries(values.OIDC_DOMAINS).map(([domain, company]) => {
    return [domain, company === 'existing' ? null : company];
  });
  return {
    issuer,
    clientId,
    clientSecret: file === null ? values.OIDC_CLIENT_SECRET : readTextFile(file),
    roleClaim: values.OIDC_ROLE_CLAIM,
    domains: Object.fromEntries(domains),
    roles: values.OIDC_ROLES as OidcConfiguration['roles'],
    name: values.OIDC_NAME,
  };
}
