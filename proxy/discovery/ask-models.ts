// Asks one provider for its models.
import { refusal } from '../errors.ts';
import { inSlices, type Slices } from '../pacing/slices.ts';
import type { ApiKeys } from '../upstream/api-keys.ts';
import type { Deadlines } from '../upstream/deadlines.ts';
import type { Patience } from '../upstream/patience.ts';
import type { Origin, Pools } from '../upstream/pools.ts';
import { readWhole } from '../upstream/read-whole.ts';
import { type ModelList, usableModels } from './model-list.ts';

/** Where and how a provider lists its models. */
export interface ModelListing {
  /** From the host on, the query included. */
  readonly path: string;
  /** The ids in the text of a list, whatever they are; undefined, or thrown, when it is none. */
  readonly read: (text: Buffer) => Slices<readonly unknown[] | undefined>;
}

/** A provider that can be asked. */
export interface AskedProvider extends Origin {
  readonly name: string;
  readonly modelList: ModelListing | undefined;
  readonly credentials: ApiKeys;
  readonly patience: Patience;
}

export interface AskingParts {
  readonly pools: Pick<Pools, 'get'>;
  readonly deadlines: Deadlines;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
}

/** The list of models, or a sentence with the reason why there is none: never with an address, a header or a body. */
export type Told = (ModelList & { readonly trouble?: undefined }) | { readonly trouble: string };

/** The longest list that is read. Bytes. */
const mostBytes = 4 * 1024 * 1024;
/** However long requests of clients may take. Milliseconds. */
const longestMs = 30_000;

/** Asks with the next key, within the timeouts of the provider and 30 seconds. Never rejects. */
export async function askModels(provider: AskedProvider, { pools, deadlines, nowMs }: AskingParts): Promise<Told> {
  const { name, modelList, credentials, patience } = provider;
  if (modelList === undefined) return { trouble: 'It has no list of models. Name them in `models`.' };
  const key = credentials.pick(nowMs());
  const question = { path: modelList.path, headers: key.headers, mostBytes };
  const bounded = { ...patience, totalMs: Math.min(patience.totalMs, longestMs) };
  const answer = await readWhole(pools.get(provider), question, bounded, deadlines);
  const askAgain = (reason: string): Told => {
    return { trouble: refusal('upstream_invalid_response', { provider: name, fill: { reason } }).message };
  };
  if (answer.failure !== undefined) {
    const { code, reason } = answer.failure;
    return { trouble: refusal(code, { provider: name, fill: { reason } }).message };
  }
  credentials.answered(key, answer.status, answer.head, nowMs());
  if (answer.status !== 200) return askAgain(`its status is ${answer.status}`);
  const said = await inSlices(modelList.read(answer.body)).catch(() => undefined);
  if (said === undefined) return askAgain('it is no list of models');
  const list = await inSlices(usableModels(said));
  // A provider without models for a moment would take them from all clients.
  return list.ids.length === 0 ? askAgain('it lists no model') : list;
}
