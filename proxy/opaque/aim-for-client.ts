// Aims of opaque calls at providers that are asked with the credential of the client (`auth: client`).
import { SecretsTap } from '../providers/secrets-tap.ts';
import { type ClientRequest, credentialFor, credentialMissing, upstreamWith } from '../snapshot/client-credential.ts';
import type { Upstream } from '../snapshot/snapshot.ts';
import type { Aim, OpaqueTarget } from './door.ts';

/**
 * The aim for one request, with the credential of its client at one provider: see `clientPart`. Throws 401 `client_credential_missing` when
 * no target is left.
 */
export function aimForClient(aim: Aim, asking: ClientRequest): Aim {
  const { targets } = aim;
  const first = targets.find(isOfClients);
  if (first === undefined) return aim;
  const provider = targets.find((target) => isOfClients(target) && credentialFor(target.upstream, asking))?.upstream;
  const left = targets.filter((target) => !isOfClients(target) || target.upstream === provider);
  if (left.length === 0) throw credentialMissing(first.upstream, asking);
  const credential = provider && credentialFor(provider, asking);
  if (provider === undefined || credential === undefined) return { ...aim, targets: left };
  const upstream = upstreamWith(provider, credential);
  return {
    ...aim,
    targets: left.map((target) => (target.upstream === provider ? targetAt(upstream, target) : target)),
    tap(answer, target) {
      const tapped = aim.tap(answer, target);
      return { ...tapped, taps: [new SecretsTap(target.upstream.secrets, false), ...tapped.taps] };
    },
  };
}

/** A header of the client that comes with its credential does not come twice. */
function targetAt(upstream: Upstream, target: OpaqueTarget): OpaqueTarget {
  const there = new Set(upstream.headers.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase()));
  const { headers: given, speaker } = target;
  const headers = given.filter((_, index) => !there.has((given[index - (index % 2)] ?? '').toLowerCase()));
  const { clientAuth, secrets } = upstream;
  return { ...target, upstream, headers, speaker: { ...speaker, clientAuth, secrets } };
}

function isOfClients({ upstream }: OpaqueTarget): boolean {
  return upstream.clientAuth === 'needed';
}
