// The stored responses of this proxy: in the state store, by the settings in force.
import type { Logger } from 'pino';
import type { KeptItems } from '../../../store/state/kept-items.ts';
import type { Snapshot } from '../../snapshot/snapshot.ts';
import { keepResponses } from '../kept-responses.ts';
import type { WrittenElsewhere } from '../objects/kept-homes.ts';
import { StoredResponses } from './stored-responses.ts';

/** The operator is told of failures once in this time, however many there are. Milliseconds. */
const quietMs = 60_000;

export interface StoredResponsesParts {
  readonly store: { readonly kept: KeptItems };
  readonly snapshot: () => Pick<Snapshot, 'storedResponses'>;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
  readonly log: Pick<Logger, 'warn'>;
  readonly elsewhere?: WrittenElsewhere | undefined;
}

export function openStoredResponses({ store, snapshot, nowMs, log, elsewhere }: StoredResponsesParts): StoredResponses {
  let quietUntilMs = 0;
  const kept = keepResponses({ kept: store.kept, nowMs, settings: () => snapshot().storedResponses });
  return new StoredResponses({
    kept,
    elsewhere,
    failed(error) {
      const now = nowMs();
      if (now < quietUntilMs) return;
      quietUntilMs = now + quietMs;
      log.warn({ err: error }, 'a response could not be stored; gateway_stored_responses_total counts them');
    },
  });
}
