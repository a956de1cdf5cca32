// The kinds of failures of a target, as `retry.on` of an alias names them, and what one failure says of calls to come.

/** In the order of the reference. */
export const failureKinds = [
  'unreachable',
  'timeout',
  'rate_limit',
  'server_error',
  'invalid_answer',
  'context_length',
  'content_filter',
  'account',
  'model_gone',
] as const;
export type FailureKind = (typeof failureKinds)[number];

/** Words of former versions, which stay valid, and what they are called now. */
export const formerKinds = {
  connect: 'unreachable',
  unauthorized: 'account',
  model_unavailable: 'model_gone',
} as const satisfies Readonly<Record<string, FailureKind>>;
type FormerKind = keyof typeof formerKinds;

/** What another target may do better, so that it is asked where an alias says nothing else. */
export const usualKinds: readonly FailureKind[] = failureKinds.filter((kind) => kind !== 'content_filter');

/** The kind that a word of the config stands for. */
export function failureKindOf(word: FailureKind | FormerKind): FailureKind {
  return Object.hasOwn(formerKinds, word) ? formerKinds[word as FormerKind] : (word as FailureKind);
}

/** Why a target will refuse the next calls, too. */
export type TargetTrouble = 'key_refused' | 'account_used_up' | 'model_unavailable';

/** What the error of a provider means. */
export interface Diagnosis {
  /** Undefined: the request is wrong, and no other target is asked. */
  readonly kind: FailureKind | undefined;
  /** Undefined: it may be about this request alone. */
  readonly trouble: TargetTrouble | undefined;
  /** How long it asks to be left alone, where its body says so; its headers count before that. Milliseconds. */
  readonly waitMs?: number | undefined;
}

/** The target works: it is this request that it does not serve. */
export function isOfRequest({ kind, trouble }: Diagnosis): boolean {
  if (kind === undefined || kind === 'context_length' || kind === 'content_filter') return true;
  return (kind === 'account' || kind === 'model_gone') && trouble === undefined;
}
