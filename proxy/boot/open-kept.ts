// Opens what the proxy remembers of objects that callers come back to: responses, files and batches.
import { KeptHomes } from '../kept/objects/kept-homes.ts';
import { openStoredResponses, type StoredResponsesParts } from '../kept/responses/open.ts';
import type { StoredResponses } from '../kept/responses/stored-responses.ts';

export interface Kept {
  readonly storedResponses: StoredResponses;
  readonly homes: KeptHomes;
  /** Everything that was to be kept is kept, or has failed. */
  settled(): Promise<unknown>;
  /** Resolves once what is being written of this id and owner can be read. */
  written(id: string, owner: string): Promise<unknown>;
}

export function openKept(parts: StoredResponsesParts): Kept {
  const { store, nowMs, log, elsewhere } = parts;
  const storedResponses = openStoredResponses(parts);
  const homes = new KeptHomes({ kept: store.kept, nowMs, log, elsewhere });
  return {
    storedResponses,
    homes,
    settled: () => Promise.all([storedResponses.settled(), homes.settled()]),
    written: (id, owner) => Promise.all([storedResponses.written(id, owner), homes.written(id, owner)]),
  };
}
