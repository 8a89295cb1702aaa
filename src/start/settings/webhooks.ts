import type { SettingValues } from './settings.ts';

/** Webhooks that we send. */

export interface AlertConfiguration {
  /** Inside of which the receivers of companies' alerts may be. */
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
