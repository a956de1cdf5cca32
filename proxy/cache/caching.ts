// The part of the cache in one request.

import { isWithin } from '../../domain/user-path.ts';
import type { CachedAnswer } from '../../store/cache/answer-cache.ts';
import type { Operation } from '../dialects/dialect.ts';
import type { CacheSettings } from '../snapshot/snapshot.ts';
import type { AnswerTap } from './answer-tap.ts';
import type { CacheOutcome } from './response-cache.ts';
import type { SemanticLook } from './semantic-layer.ts';

export class Caching {
  readonly settings: CacheSettings;
  outcome: CacheOutcome = 'bypass';
  /** The answer that was found. */
  hit: CachedAnswer | undefined;
  /** Under which the answer is kept; undefined: it is not. */
  key: string | undefined;
  /** Others wait for its answer. */
  leads = false;
  /** The look-up in the semantic layer; undefined: there was none. */
  semantic: SemanticLook | undefined;
  /** Takes the answer; undefined: there is none yet, or it cannot be kept. */
  tap: AnswerTap | undefined;

  constructor(settings: CacheSettings) {
    this.settings = settings;
  }
}

/** Undefined: the cache is off for this endpoint or this user path. */
export function openCaching(
  { operation }: { readonly operation: Operation },
  { userPath }: { readonly userPath: string },
  settings: CacheSettings,
): Caching | undefined {
  if (!settings.isEnabled || !settings.operations.has(operation)) return undefined;
  for (const path of settings.without) if (isWithin(userPath, path)) return undefined;
  return new Caching(settings);
}
