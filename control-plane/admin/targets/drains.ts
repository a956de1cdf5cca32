// Reads and decides what takes a target out, or gives it back. Pure.
import { foldedIn, type ModelNames } from '../../../domain/aliases/model-names.ts';
import { targetDrains } from '../../../domain/documents/kinds.ts';
import { removed, written } from '../../../domain/documents/managed-kind.ts';
import { foldCase } from '../../../domain/selector.ts';
import { drainKey, standingDrains, type TargetDrain, targetName } from '../../../domain/targets/target-drain.ts';
import { bodies } from '../../../schemas/validation/generated/bodies.js';
import { didYouMean } from '../../../schemas/validation/suggest.ts';
import type { Change, Document } from '../../../store/state/state-store.ts';
import { refusal } from '../../errors.ts';
import { type Known, refuseMore, refuseUnset, signature } from '../../managed/known.ts';
import { createBodyReader, invalid, readExpiry, readWords } from '../../managed/read-body.ts';
import { storedKind } from '../../managed/stored-kind.ts';

/** Every proxy reads them all. */
const mostDrains = 1_000;
/** As long as a request may name a model. Characters. */
const longestModel = 1_024;

/** The target that a path names, as it is written there. */
export interface NamedTarget {
  readonly key: string;
  readonly name: string;
  readonly provider: string;
  readonly model?: string;
}

export interface WantedDrain extends NamedTarget {
  readonly reason: string;
  /** Unix milliseconds. */
  readonly expiresAtMs: number;
}

type KnownDrains = Known<never, TargetDrain> & { readonly models: ModelNames };

const readBody = createBodyReader(bodies.targetDrainWrite);

/** `rest`: `<provider>[/<model>]/drain`; ids of models may have slashes. Throws 404 `route_not_found` for any other one. */
export function readTarget(method: string, rest: string): NamedTarget {
  const [, provider, model] = /^([^/]+)(?:\/(.+))?\/drain$/s.exec(rest) ?? [];
  if (provider === undefined || (model ?? '').length > longestModel)
    throw refusal('route_not_found', { fill: { method, path: `/admin/targets/${rest}` } });
  const target = { provider, ...(model === undefined ? {} : { model }) };
  return { ...target, key: drainKey(target), name: targetName(target) };
}

/** The body of a POST (`schemas/admin/target-drain-write.schema.json`) for the target of its path. Throws the refusal. */
export function readDrain(body: unknown, nowMs: number, rest: string): WantedDrain {
  const target = readTarget('POST', rest);
  const given = readBody(body);
  const reason = readWords(given.reason.trim());
  if (reason === undefined) throw invalid('reason', 'must say why');
  const expiresAtMs = readExpiry(given, nowMs);
  if (expiresAtMs === undefined)
    throw invalid('expires_in', 'is missing; a drain has an end, expires_in or expires_at');
  return { ...target, reason, expiresAtMs };
}

/** The change that takes a target out, or changes until when. Throws 404 `target_not_found` for one that no request can lead to. */
export function putDrain(known: KnownDrains, { key, reason, expiresAtMs, ...target }: WantedDrain, by: string): Change {
  refuseMore(known, key, mostDrains, 'too_many_target_drains');
  const { manual, nowMs } = known;
  const spelled = asDeclared(target, known.models);
  const { expiresAt = '', ...dates } = signature(manual.get(key), expiresAtMs, by, nowMs);
  return written(targetDrains, key, { key, ...spelled, reason, expiresAt, ...dates });
}

/** The change that gives a target back. Throws 404 `target_drain_not_found`. */
export function endDrain(known: KnownDrains, { key, name }: NamedTarget): Change {
  refuseUnset(known, key, { configOwned: 'target_drain_not_found', notFound: 'target_drain_not_found' }, { name });
  return removed(targetDrains, key);
}

/** The targets that are taken out, sorted by name. `documents` are sorted. */
export function drainRows(documents: readonly Document[], nowMs: number): object[] {
  const { inForce } = standingDrains(storedKind(targetDrains, { documents }).values(), nowMs);
  return [...inForce.values()].map(drainRow);
}

/** A row of the listing (`schemas/admin/targets.schema.json`). */
export function drainRow({ provider, model, reason, expiresAt, createdAt, updatedAt, updatedBy }: TargetDrain): object {
  return {
    provider,
    ...(model === undefined ? {} : { model }),
    reason,
    expires_at: expiresAt,
    created_at: createdAt,
    updated_at: updatedAt,
    updated_by: updatedBy,
  };
}

/** In the letter case of the configuration. A provider that is asked for its models may have any. */
function asDeclared(
  { provider, model, name }: Omit<NamedTarget, 'key'>,
  { offered, discovering }: ModelNames,
): Pick<TargetDrain, 'provider' | 'model'> {
  const declared = [...offered.keys()].find((each) => foldCase(each) === foldCase(provider));
  const models = offered.get(declared ?? '');
  if (declared === undefined || models === undefined) throw unknownTarget(name, [...offered.keys()]);
  if (model === undefined) return { provider: declared };
  const found = foldedIn(models).get(foldCase(model)) ?? (discovering.has(declared) ? model : undefined);
  if (found === undefined) {
    const all = [...models].map((each) => `${declared}/${each}`);
    throw unknownTarget(name, all);
  }
  return { provider: declared, model: found };
}

function unknownTarget(name: string, candidates: readonly string[]): Error {
  return refusal('target_not_found', { fill: { name, guess: didYouMean(name, candidates) || '.' } });
}
