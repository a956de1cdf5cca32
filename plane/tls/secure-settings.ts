// The settings of a listener with TLS: those of the configuration, and what its files hold.
import type { ListenerMaterial } from '../../gitops/read/listener-files.ts';
import type { Config } from '../../schemas/types.ts';

export interface SecureSettings {
  readonly material: ListenerMaterial;
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3';
  /** Whether clients are asked for a certificate, and whether they must have one; undefined: they are not asked. */
  readonly mode: 'request' | 'require' | undefined;
}

/** Undefined: the listener speaks plain HTTP. */
export function secureSettings(
  tls: Config['server']['tls'] | Config['admin']['tls'],
  material: ListenerMaterial | undefined,
): SecureSettings | undefined {
  if (tls === undefined || material === undefined) return undefined;
  const clients = 'client_certificates' in tls ? tls.client_certificates : undefined;
  return Object.freeze({ material, minVersion: `TLSv${tls.min_version}` as const, mode: clients?.mode });
}
