// The keys of issuers on disk, for a start while they are away. All of them are public.
import { keepCopy, recallCopy } from '../../store/checksummed-file.ts';
import type { FetchedKeys } from './issuer.ts';
import { publicKeysOf } from './public-keys.ts';

/** By their source (`sourceOf`). */
export type KeptKeys = ReadonlyMap<string, FetchedKeys>;

/** Replaces the copy. Gives a sentence when that fails; never throws. */
export async function keepKeys(path: string, kept: KeptKeys): Promise<string | undefined> {
  const rows = [...kept].map(([source, { keys, atMs }]) => ({ source, at_ms: Math.floor(atMs), keys }));
  const reason = await keepCopy(path, JSON.stringify(rows));
  return reason && `the keys of issuers could not be written to ${path} (${reason}); a restart depends on the issuers`;
}

/** The copy; nothing, and a sentence, when it cannot be trusted. Never throws. `nowMs`: no keys are from later than now. */
export async function recallKeys(path: string, nowMs: number): Promise<{ kept: KeptKeys; warning?: string }> {
  const kept = new Map<string, FetchedKeys>();
  const { content, distrust } = await recallCopy(path);
  if (content === undefined && distrust === undefined) return { kept };
  try {
    if (distrust !== undefined) throw new Error(distrust);
    for (const row of JSON.parse(content ?? '[]') as readonly { source?: unknown; at_ms?: unknown }[]) {
      if (typeof row.source !== 'string' || !Number.isSafeInteger(row.at_ms)) continue;
      kept.set(row.source, { keys: publicKeysOf(row), atMs: Math.min(Number(row.at_ms), nowMs) });
    }
    return { kept };
  } catch {
    return {
      kept: new Map(),
      warning: `the copy of the keys of issuers in ${path} is ignored: ${distrust ?? 'it is damaged'}`,
    };
  }
}
