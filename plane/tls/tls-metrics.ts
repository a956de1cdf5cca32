// Reads the metrics of a listener with TLS.
import type { FollowStatus } from '../../gitops/follow/config-status.ts';
import { byLabel, type Shown } from '../prometheus.ts';
import type { HandshakeCounts } from './handshakes.ts';

export interface TlsFacts {
  readonly config: () => FollowStatus | undefined;
  /** Undefined: there is no TLS. */
  readonly handshakes: () => HandshakeCounts | undefined;
}

/** A reader of each metric of `tlsMetrics`. */
export function tlsReaders({
  config,
  handshakes,
}: TlsFacts): Readonly<Record<'certificateNotAfter' | 'handshakes' | 'handshakesOpen', () => Shown>> {
  return {
    certificateNotAfter() {
      const { certificate } = config() ?? {};
      return certificate === undefined ? [] : certificate.notAfterMs / 1000;
    },
    handshakes() {
      const counts = handshakes();
      return counts === undefined ? [] : byLabel('outcome', { ...counts.outcomes });
    },
    handshakesOpen: () => handshakes()?.open ?? [],
  };
}
