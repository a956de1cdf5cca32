// Which targets of a route can be asked for an operation: in the client's own dialect, or translated.
import { type Answer, jsonAnswer } from '../answer.ts';
import type { Call } from '../call/call.ts';
import type { Operation } from '../dialects/dialect.ts';
import { countedTokens, readCountRequest } from '../dialects/messages/count-tokens.ts';
import { Refusal, refusal } from '../errors.ts';
import type { KeepingOfResponses } from '../kept-responses.ts';
import { translatedFrom } from '../providers/dialects.ts';
import type { Route, Target } from '../snapshot/snapshot.ts';
import { conversationOf } from '../translation/conversation-of.ts';
import { type Translated, translate } from '../translation/translated.ts';
import { partOf } from './route-part.ts';

/** The rules of a request to count tokens. */
const tokenCounting = { readRequest: readCountRequest };

/** A route whose targets can all be asked, and what those are told whose dialect is another one. */
export interface Candidates {
  readonly route: Route;
  /** Undefined: all speak the client's dialect. */
  readonly translated: ReadonlyMap<Target, Translated> | undefined;
  /** The answer that needs no target; undefined: one is asked. */
  readonly own: Answer | undefined;
}

/** What is asked for, and where. */
interface Wanted {
  readonly operation: Operation;
  readonly path: string;
  readonly keepsAnswers: boolean;
}

/**
 * Leaves out the targets that cannot be asked. `isEnabled`: the gateway keeps answers. Throws when none is left: 400 `unsupported_operation` where providers have nothing like it,
 * `unsupported_parameter` where they cannot be told all of it, and `invalid_parameter` for a body that cannot be translated at all.
 */
export function candidates(
  route: Route,
  { operation, path, keepsAnswers }: Wanted,
  call: Call,
  { isEnabled }: Pick<KeepingOfResponses, 'isEnabled'>,
): Candidates {
  if (isNative(route, operation)) return { route, translated: undefined, own: undefined };
  if (isEstimated(operation)) return countable(route, call);
  const translated = new Map<Target, Translated>();
  let refused: Refusal | undefined;
  const spoken = lazily(() => {
    const client = translatedFrom[operation];
    if (client === undefined) throw new Error(`nothing translates ${operation}`);
    return conversationOf(call, client, keepsAnswers && isEnabled ? ['store'] : []);
  });
  const usable = partOf(route, (target) => {
    const speech = target.speeches[operation];
    if (speech?.translation === undefined) return speech !== undefined;
    try {
      translated.set(target, translate(spoken(), target, speech, speech.translation));
      return true;
    } catch (error) {
      if (!(error instanceof Refusal) || error.code === 'invalid_parameter') throw error;
      refused ??= error;
      return false;
    }
  });
  if (usable === undefined) {
    throw (
      refused ?? refusal('unsupported_operation', { param: 'model', fill: { what: 'model', name: call.model, path } })
    );
  }
  return { route: usable, translated, own: undefined };
}

/** Tokens are counted by targets that can count them, else estimated. */
function countable(route: Route, call: Call): Candidates {
  const counting = partOf(route, ({ speeches }) => speeches.count_tokens !== undefined);
  if (counting !== undefined) return { route: counting, translated: undefined, own: undefined };
  conversationOf(call, tokenCounting);
  const own = jsonAnswer(countedTokens(call.body));
  return { route, translated: undefined, own };
}

/** What no target can be asked, the gateway answers by itself. */
export function isEstimated(operation: Operation): boolean {
  return operation === 'count_tokens';
}

function isNative({ targets }: Route, operation: Operation): boolean {
  for (const { speeches } of targets) {
    const speech = speeches[operation];
    if (speech === undefined || speech.translation !== undefined) return false;
  }
  return true;
}

/** What `make` gives, made when it is first asked for. */
function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
