// Which targets of a route can be asked for an operation: in the client's own dialect, or translated.
import { type Answer, jsonAnswer } from '../answer.ts';
import type { Rescued } from '../dialects/conversation/conversation.ts';
import type { Operation } from '../dialects/dialect.ts';
import { countedTokens, readCountRequest } from '../dialects/messages/count-tokens.ts';
import type { ClientDialect } from '../dialects/translation.ts';
import { Refusal, refusal } from '../errors.ts';
import { type Slices, sliced } from '../pacing/slices.ts';
import { providerDialects, translatedFrom } from '../providers/dialects.ts';
import type { KeepingOfResponses, Route, Target } from '../snapshot/snapshot.ts';
import { conversationOf, type Spoken } from '../translation/conversation-of.ts';
import { isRescuable } from '../translation/rescue/continuation.ts';
import { type Translated, translate } from '../translation/translated.ts';
import { fitting } from './fitting.ts';
import type { Guarded } from './guard.ts';
import { isUnwanted } from './keep.ts';
import { type Payer, pricedPart } from './priced.ts';
import { partOf } from './route-part.ts';

/** The rules of a request to count tokens. */
const tokenCounting = { readRequest: readCountRequest };

/** A call, and a route whose targets can all be asked, and what those are told whose dialect is another one. */
export interface Candidates extends Pick<Guarded, 'call'> {
  /** The mark of the only API key that it may be asked with; undefined: any. */
  readonly keyMark: string | undefined;
  readonly route: Route;
  /** Undefined: all speak the client's dialect. */
  readonly translated: ReadonlyMap<Target, Translated> | undefined;
  /** The rest of its stream may be told by another target than the beginning; undefined: it may not. */
  readonly rescue: Rescued | undefined;
  /** The answer that needs no target; undefined: one is asked. */
  readonly own: Answer | undefined;
}

/** The operation that is asked for, and its path. */
interface Wanted {
  readonly operation: Operation;
  readonly path: string;
  readonly keepsAnswers: boolean;
  readonly refusedAs: 'unsupported_operation' | 'endpoint_not_supported';
}

type RoutedAsk = Pick<Guarded, 'call' | 'home' | 'named'>;

/**
 * Leaves out the targets that cannot be asked, and those that have no room for the prompt while one has. `isEnabled`: the gateway keeps answers. Throws when none is left, or rejects with: 400
 * `unsupported_operation` or 404 `endpoint_not_supported` where providers have nothing like it, `unsupported_parameter` where they cannot be told all of it, and
 * `invalid_parameter` or `body_too_many_keys` for a body that cannot be translated at all. Nothing waits where the call is short.
 */
export function candidates(
  asked: RoutedAsk,
  wanted: Wanted,
  { isEnabled }: Pick<KeepingOfResponses, 'isEnabled'>,
): Candidates | Promise<Candidates> {
  const { call, home, named: route } = asked;
  const { operation, keepsAnswers } = wanted;
  const mayJoin = route.rescue !== undefined && call.stream && home === undefined && joined.has(operation);
  if (isNative(route, operation) && !mayJoin) return native(asked, operation);
  const obeyed = keepsAnswers && isEnabled ? ['store'] : [];
  const told = { ...wanted, obeyed };
  if (isEstimated(operation)) return sliced(call.body.length, countable(asked));
  return sliced(call.body.length, mayJoin ? joinedOf(asked, told) : translatable(asked, told, undefined));
}

/** All targets speak the client's dialect. */
function native({ call, home, named: route }: RoutedAsk, operation: Operation): Candidates {
  return {
    call,
    keyMark: keyMarkOf(home),
    route: fitting(route, call, operation),
    translated: undefined,
    rescue: undefined,
    own: undefined,
  };
}

/** Of an alias with `rescue`. */
function* joinedOf(asked: RoutedAsk, wanted: Told): Slices<Candidates> {
  const { operation, obeyed } = wanted;
  const spoken = yield* joinable(asked, operation, obeyed);
  if (spoken === undefined && isNative(asked.named, operation)) return native(asked, operation);
  return yield* translatable(asked, wanted, spoken);
}

/** `obeyed`: members that the gateway itself obeys. */
type Told = Wanted & { readonly obeyed: readonly string[] };

/** Operations whose streams can be told by several targets. */
const joined: ReadonlySet<Operation> = new Set(['chat', 'messages', 'responses']);

/**
 * The call of an alias with `rescue`, if its answer can be joined: all of its answers are read then, those of the client's own dialect too. Undefined: it is
 * asked as without.
 */
function* joinable(
  { call, named }: RoutedAsk,
  operation: Operation,
  obeyed: readonly string[],
): Slices<Spoken | undefined> {
  // A response that its provider keeps must be the one that the client has.
  if (operation === 'responses' && obeyed.length === 0 && !isUnwanted(call)) return undefined;
  try {
    const spoken = yield* conversationOf(call, clientOf(operation), obeyed);
    return isRescuable(spoken.request, named.rescue === 'continue') ? spoken : undefined;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return undefined;
  }
}

function* translatable(
  { call, home, named }: RoutedAsk,
  { operation, path, refusedAs, obeyed }: Told,
  toJoin: Spoken | undefined,
): Slices<Candidates> {
  const translated = new Map<Target, Translated>();
  const usable = new Set<Target>();
  let refused: Refusal | undefined;
  let spoken = toJoin;
  for (const target of named.targets) {
    const speech = target.speeches[operation];
    const dialect = speech?.translation ?? (toJoin && speech && providerDialects[speech.format]);
    if (speech === undefined || dialect === undefined) {
      if (speech !== undefined) usable.add(target);
      continue;
    }
    spoken ??= yield* conversationOf(call, clientOf(operation), obeyed);
    try {
      translated.set(target, yield* translate(spoken, target, speech, dialect));
      usable.add(target);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      // Its bytes can be relayed, at least.
      if (speech.translation === undefined) usable.add(target);
      else refused ??= error;
    }
  }
  const route = partOf(named, (target) => usable.has(target));
  const rescue = toJoin && named.rescue;
  if (route !== undefined)
    return {
      call,
      keyMark: keyMarkOf(home),
      route: fitting(route, call, operation),
      translated,
      rescue,
      own: undefined,
    };
  throw refused ?? refusal(refusedAs, { param: 'model', fill: { what: 'model', name: call.model, path } });
}

function keyMarkOf(home: Guarded['home']): string | undefined {
  return home?.key || undefined;
}

function clientOf(operation: Operation): ClientDialect {
  const client = translatedFrom[operation];
  if (client === undefined) throw new Error(`nothing translates ${operation}`);
  return client;
}

/** The targets of a call that its caller may ask at their price; `isFree`: it costs nothing, whatever the model. Throws what `pricedPart` does. */
export function payable<Named extends { readonly call: { readonly model: string }; readonly named: Route }>(
  asked: Named,
  payer: Payer & { readonly isFree: boolean },
): Named {
  if (payer.isFree || payer.snapshot.budgeted === undefined) return asked;
  return { ...asked, named: pricedPart(asked.named, asked.call.model, payer) };
}

/** Tokens are counted by targets that can count them, else estimated. */
function* countable({ call, home, named }: RoutedAsk): Slices<Candidates> {
  const counting = partOf(named, ({ speeches }) => speeches.count_tokens !== undefined);
  if (counting !== undefined)
    return {
      call,
      keyMark: keyMarkOf(home),
      route: counting,
      translated: undefined,
      rescue: undefined,
      own: undefined,
    };
  yield* conversationOf(call, tokenCounting);
  const own = jsonAnswer(countedTokens(call.body));
  return { call, keyMark: undefined, route: named, translated: undefined, rescue: undefined, own };
}

/** The gateway answers this operation by itself where no target can be asked. */
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
