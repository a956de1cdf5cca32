// A rule as it is being written: the texts of the fields, and the body that they make. Pure.
import { localField, parseLocal, parseTime, utcTime } from '../../time.ts';
import type { Rule, Scope } from './rule.ts';
import type { Declared } from './yaml.ts';

/** The texts of the fields. */
export interface Draft {
  readonly scope: Scope;
  readonly subject: string;
  /** The name of a period, or `custom`. */
  readonly period: 'minute' | 'hour' | 'day' | 'concurrent' | 'custom';
  readonly seconds: string;
  readonly maxRequests: string;
  readonly maxTokens: string;
  readonly shadow: boolean;
  /** What holds without the state store; empty: as configured. */
  readonly onStoreLoss: '' | 'share' | 'closed' | 'open';
  readonly perChild: boolean;
  readonly name: string;
  readonly reason: string;
  /** `` for none, `at` for a moment, else a length such as `8h`. */
  readonly end: string;
  readonly endAt: string;
}

export const emptyDraft: Draft = {
  scope: 'user_path',
  subject: '',
  period: 'minute',
  seconds: '300',
  maxRequests: '',
  maxTokens: '',
  shadow: false,
  onStoreLoss: '',
  perChild: false,
  name: '',
  reason: '',
  end: '',
  endAt: '',
};

const named: Readonly<Record<number, Draft['period']>> = { 0: 'concurrent', 60: 'minute', 3600: 'hour', 86400: 'day' };
const lengths: Readonly<Record<string, number>> = { concurrent: 0, minute: 60, hour: 3600, day: 86400 };

/** `isOverride`: what a rule of the configuration says, for eight hours. */
export function draftOf(rule: Rule, isOverride: boolean): Draft {
  const { scope, subject, period_seconds, max_requests, max_tokens, mode, per_child, name, reason, expires_at } = rule;
  const { on_store_loss } = rule;
  const local = expires_at === undefined ? '' : localField(parseTime(expires_at));
  return {
    scope,
    subject,
    period: named[period_seconds] ?? 'custom',
    seconds: String(period_seconds),
    maxRequests: max_requests === undefined ? '' : String(max_requests),
    maxTokens: max_tokens === undefined ? '' : String(max_tokens),
    shadow: mode === 'shadow',
    onStoreLoss: on_store_loss ?? '',
    perChild: per_child,
    name: name ?? '',
    reason: reason ?? '',
    end: isOverride ? '8h' : expires_at === undefined ? '' : 'at',
    endAt: local,
  };
}

export function secondsOf({ period, seconds }: Draft): number {
  return lengths[period] ?? Number(seconds);
}

/** Whether it names another rule than the one it was made of. */
export function isMoved(draft: Draft, { scope, subject, period_seconds }: Rule): boolean {
  return draft.scope !== scope || draft.subject.trim() !== subject || secondsOf(draft) !== period_seconds;
}

/** The body of the PUT. `over`: a rule of the configuration, whose caps a write would otherwise take where it names none. */
export function bodyOf(draft: Draft, over: Rule | undefined): object {
  const { scope, subject, period, shadow, perChild, name, reason, end, endAt, onStoreLoss } = draft;
  const isInherited = over?.source === 'config' || over?.overrides_config === true;
  const cap = (text: string): number | null | undefined =>
    text.trim() === '' ? (isInherited ? null : undefined) : Number(text);
  const given = {
    scope,
    subject: subject.trim(),
    limit_key: period === 'custom' ? { period_seconds: secondsOf(draft) } : { period },
    max_requests: cap(draft.maxRequests),
    max_tokens: period === 'concurrent' ? undefined : cap(draft.maxTokens),
    mode: shadow ? 'shadow' : 'enforce',
    on_store_loss: onStoreLoss === '' ? undefined : onStoreLoss,
    per_child: scope === 'user_path' ? perChild : undefined,
    name: name.trim() === '' ? undefined : name.trim(),
    reason: reason.trim() === '' ? undefined : reason.trim(),
    expires_in: end === '' || end === 'at' ? undefined : end,
    expires_at: end === 'at' ? utcTime(parseLocal(endAt)) : undefined,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** The first mistake, found before anything is sent: the field, and a sentence. The API checks the rest. */
export function mistakeIn(draft: Draft): readonly [field: keyof Draft, problem: string] | undefined {
  const { subject, period, seconds, maxRequests, maxTokens, end, endAt } = draft;
  const isCap = (text: string): boolean => text.trim() === '' || /^\d{1,16}$/.test(text.trim());
  if (subject.trim() === '') return ['subject', 'Say whom or what the rule is for.'];
  if (period === 'custom' && !/^[1-9]\d{0,9}$/.test(seconds)) return ['seconds', 'Write whole seconds.'];
  if (!isCap(maxRequests)) return ['maxRequests', 'Write a whole number.'];
  if (!isCap(maxTokens)) return ['maxTokens', 'Write a whole number.'];
  if (maxRequests.trim() === '' && (maxTokens.trim() === '' || period === 'concurrent'))
    return ['maxRequests', 'Write a cap: on requests, or on tokens.'];
  if (end === 'at' && Number.isNaN(parseLocal(endAt))) return ['endAt', 'Write the day and the time of the end.'];
  return undefined;
}

export function declaredBy(draft: Draft): Declared {
  const numberOf = (text: string): number | undefined => (text.trim() === '' ? undefined : Number(text));
  return {
    scope: draft.scope,
    subject: draft.subject.trim(),
    perChild: draft.perChild && draft.scope === 'user_path',
    periodSeconds: secondsOf(draft),
    maxRequests: numberOf(draft.maxRequests),
    maxTokens: draft.period === 'concurrent' ? undefined : numberOf(draft.maxTokens),
    mode: draft.shadow ? 'shadow' : 'enforce',
    onStoreLoss: draft.onStoreLoss === '' ? undefined : draft.onStoreLoss,
    name: draft.name.trim(),
  };
}
