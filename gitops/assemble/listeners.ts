// The listeners of a configuration that speak TLS, with the places of their files.
import { retentionMs } from '../../schemas/formats/units.ts';
import type { Config } from '../../schemas/types.ts';
import type { Listener, SecretText } from './assembled.ts';
import type { Sources } from './sources.ts';

/** Those with a section `tls`: of the proxy, and of the control plane. */
export function listenersOf({ server, admin }: Pick<Config, 'server' | 'admin'>, sources: Sources): Listener[] {
  const found: Listener[] = [];
  for (const [section, tls] of [
    ['server', server.tls],
    ['admin', admin.tls],
  ] as const) {
    if (tls === undefined) continue;
    const clients = 'client_certificates' in tls ? tls.client_certificates : undefined;
    const members = [
      ['certificate_file'],
      ['key_file'],
      ...(clients === undefined ? [] : [['client_certificates', 'ca_file']]),
      ...(clients?.crl_file === undefined ? [] : [['client_certificates', 'crl_file']]),
    ];
    const places: Record<string, SecretText['place']> = {};
    for (const member of members) {
      const { message: _, ...place } = sources.problem([section, 'tls', ...member], '');
      places[member.join('.')] = place;
    }
    found.push({ section, files: filesOf(tls, clients), places, warnBeforeMs: retentionMs(tls.warn_before) });
  }
  return found;
}

function filesOf(
  { certificate_file, key_file }: Listener['files'],
  clients: Listener['files']['client_certificates'],
): Listener['files'] {
  if (clients === undefined) return { certificate_file, key_file };
  const { ca_file, crl_file } = clients;
  return {
    certificate_file,
    key_file,
    client_certificates: { ca_file, ...(crl_file === undefined ? {} : { crl_file }) },
  };
}
