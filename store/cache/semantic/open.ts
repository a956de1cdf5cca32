// Opens the semantic cache that is configured. The engines and what each needs are known only here.
import { openEmbeddedNeighbours } from './embedded.ts';
import { missingExtension } from './extension.ts';
import type { Neighbours } from './neighbours.ts';
import { openPostgresNeighbours } from './postgres.ts';

export type NeighbourEngine = 'embedded' | 'postgres';

export interface NeighbourSettings {
  readonly engine: NeighbourEngine;
  readonly mostEntries: number;
}

export interface NeighbourStores {
  /** What an engine lacks in this process, as a sentence; undefined: nothing that shows without asking a server. */
  missing(engine: NeighbourEngine): string | undefined;
  open(settings: NeighbourSettings): Neighbours;
}

/** Deadline of a question. Milliseconds. */
const timeoutMs = 1_000;

export function neighbourStores({ databaseUrl }: { readonly databaseUrl: string | undefined }): NeighbourStores {
  return {
    missing(engine) {
      if (engine === 'embedded') return missingExtension();
      return databaseUrl === undefined ? 'there is no DATABASE_URL' : undefined;
    },
    open({ engine, mostEntries }) {
      if (engine === 'embedded') return openEmbeddedNeighbours({ mostEntries, timeoutMs });
      if (databaseUrl === undefined) throw new Error('there is no DATABASE_URL');
      return openPostgresNeighbours({ databaseUrl, mostEntries, timeoutMs });
    },
  };
}
