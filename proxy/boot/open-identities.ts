// Opens the cloud identities of providers, and tells the operator when one cannot be renewed, ends, and comes back.
import { timestamp } from '../../domain/timestamp.ts';
import type { Log } from '../../plane/log-events.ts';
import { CloudIdentities } from '../cloud-identity/identities.ts';
import type { RenewalOutcome } from '../cloud-identity/renewal.ts';
import type { SourceParts } from '../cloud-identity/token-source.ts';

/** A start waits for first credentials for so long at most, in milliseconds: without them it listens all the same. */
export const firstCredentialMs = 5_000;

/** `nowMs`: the gateway's clock in milliseconds. */
export function openIdentities(sources: SourceParts, nowMs: () => number, log: Log): CloudIdentities {
  return new CloudIdentities({ sources, nowMs, ended: identityLines(log) });
}

/** A line when renewals begin to fail, when nothing holds any more, and when they go well again. */
export function identityLines(log: Log): (provider: string, outcome: RenewalOutcome, isOwn: boolean) => void {
  /** The providers whose lack of a valid credential was told. */
  const without = new Set<string>();
  return (provider, { problem, failures, held }, isOwn) => {
    const of = isOwn ? provider : `a session of ${provider}`;
    if (problem === undefined) {
      if (isOwn) without.delete(provider);
      if (failures > 0) log.info({ provider }, `the credential of ${of} is renewed again, after ${failures} failures`);
      return;
    }
    const facts = { provider, problem };
    if (held === undefined && isOwn) {
      if (!without.has(provider)) log.error(facts, `${of} has no valid credential, so no request is sent to it`);
      without.add(provider);
      return;
    }
    if (failures > 1) return;
    const until = held === undefined ? 'it is sent without tags' : `the last one holds until ${endOf(held.endsAtMs)}`;
    log.warn(facts, `the credential of ${of} could not be renewed; ${until}, and it is tried again`);
  };
}

function endOf(endsAtMs: number): string {
  return Number.isFinite(endsAtMs) ? timestamp(endsAtMs) : 'it is replaced';
}
