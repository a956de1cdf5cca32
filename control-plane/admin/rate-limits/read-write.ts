// From the body of a request to the rule it means: every refusal of a rate-limit write that needs no look at the store.
import { isCap, isPeriod, longestPeriodSeconds, type NamedCap } from '../../../schemas/rules/manual-rule.ts';
import { type NamedPeriod, namedPeriods } from '../../../schemas/rules/period.ts';
import { ruleKey } from '../../../schemas/rules/rule.ts';
import { normaliseSubject, type Scope, shownSubject } from '../../../schemas/rules/scope.ts';
import { refusal } from '../../errors.ts';
import {
  charactersIn,
  invalid,
  type Members,
  readBody,
  readExpiry,
  readFlag,
  readObject,
  readText,
  readWord,
} from '../read-members.ts';

interface RuleSubject {
  readonly scope: Scope;
  /** For people: a name as written, a user path normalised. */
  readonly subject: string;
  /** Normalised. */
  readonly matchSubject: string;
}

/** Which rule a request means. */
export interface RuleName extends RuleSubject {
  readonly key: string;
  /** 0: requests in flight. */
  readonly periodSeconds: number;
}

/** What a PUT says of a rule. What it leaves out is not there, or is as in the configuration where that declares the same rule. */
export interface RuleWrite extends RuleName {
  readonly perChild?: boolean;
  readonly maxRequests?: NamedCap;
  readonly maxTokens?: NamedCap;
  readonly mode: 'enforce' | 'shadow';
  readonly reason?: string;
  readonly expiresAtMs?: number;
  /** The writer may only tighten this rule, as `ManualRule` says. */
  readonly tightens?: true;
}

const scopes = ['user_path', 'provider', 'model'] as const;
const periods = Object.keys(namedPeriods) as NamedPeriod[];
const subjectMembers = ['scope', 'subject', 'user_path'];
const periodMembers = ['period', 'period_seconds'];
const keyMembers = [...subjectMembers, 'limit_key'];
const writeMembers = [...keyMembers, 'per_child', 'max_requests', 'max_tokens', 'mode', 'reason', 'expires_at'];
const longestReason = 500;
const longestModel = 320;

/** The body of PUT /admin/rate-limits (`schemas/admin/rate-limit-write.schema.json`). Throws the refusal. */
export function readWrite(body: unknown, nowMs: number): RuleWrite {
  const members = readBody(body, writeMembers);
  const name = readName(members);
  const perChild = members['per_child'] === undefined ? undefined : readFlag(members, 'per_child');
  if (perChild && name.scope !== 'user_path') {
    throw invalid('per_child', 'belongs to rules of scope user_path; provider and model rules have no children');
  }
  const expiresAtMs = readExpiry(members, nowMs);
  const hasEnd = expiresAtMs !== undefined;
  const maxRequests = readCap(members, 'max_requests', hasEnd);
  const maxTokens = readCap(members, 'max_tokens', hasEnd);
  if (name.periodSeconds === 0 && typeof maxTokens === 'number') {
    throw invalid('max_tokens', 'does not go with the period concurrent, which counts requests in flight');
  }
  if (name.periodSeconds === 0 && typeof maxRequests !== 'number') throw invalid('max_requests', 'is missing');
  // Null alone may leave the other cap of the configuration; that is seen when the two meet.
  if (maxRequests === maxTokens && typeof maxRequests !== 'number') {
    throw invalid('max_requests', 'is missing, and so is max_tokens: a rule needs one of them or both');
  }
  const mode = readWord(members['mode'], 'mode', ['enforce', 'shadow']) ?? 'enforce';
  const reason = readReason(members);
  return {
    ...name,
    ...(perChild === undefined ? {} : { perChild }),
    ...(maxRequests === undefined ? {} : { maxRequests }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    mode,
    ...(reason === undefined ? {} : { reason }),
    ...(hasEnd ? { expiresAtMs } : {}),
  };
}

/** A cap as a PUT names it: a number, or null for none. A cap of 0 is a block, which only a rule with an end may be. */
function readCap(members: Members, name: string, hasEnd: boolean): NamedCap | undefined {
  const value = members[name];
  if (value === undefined || value === null || isCap(value) || (hasEnd && value === 0)) return value;
  const block = value === 0 ? '; 0 is a block, which must have an end in expires_at' : '';
  throw invalid(name, `must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}${block}`);
}

/** The body of DELETE /admin/rate-limits (`schemas/admin/rate-limit-delete.schema.json`). Throws the refusal. */
export function readDelete(body: unknown): RuleName {
  return readName(readBody(body, keyMembers));
}

/** The body of POST /admin/rate-limits/reset-one: here the period is not in a `limit_key`. Throws the refusal. */
export function readResetOne(body: unknown): RuleName {
  const members = readBody(body, [...subjectMembers, ...periodMembers]);
  return named(readSubject(members), readPeriod(members, ''));
}

/** Refuses a body of POST /admin/rate-limits/reset that does not confirm exactly. */
export function checkConfirmation(body: unknown): void {
  const { confirmation } = readBody(body, ['confirmation']);
  if (confirmation !== 'reset') throw refusal('reset_not_confirmed', { param: 'confirmation' });
}

function readName(members: Members): RuleName {
  const subject = readSubject(members);
  return named(subject, readPeriod(readObject(members, 'limit_key', periodMembers), 'limit_key.'));
}

function named(subject: RuleSubject, periodSeconds: number): RuleName {
  return { ...subject, periodSeconds, key: ruleKey(subject.scope, subject.matchSubject, periodSeconds) };
}

function readSubject(members: Members): RuleSubject {
  const scope = readWord(members['scope'], 'scope', scopes);
  const subject = readText(members, 'subject');
  const userPath = readText(members, 'user_path');
  if (scope === 'provider' || scope === 'model') {
    if (userPath !== undefined) throw invalid('user_path', `does not go with the scope ${scope}`);
    return normalised(scope, 'subject', nameOf(scope, subject));
  }
  // The root rule stops all traffic: it must be meant, so a body that says neither scope nor path is refused.
  if (scope === undefined && userPath === undefined && isBlank(subject)) {
    throw invalid('subject', 'is missing; give user_path, or scope and subject');
  }
  if (isBlank(subject)) return normalised('user_path', 'user_path', isBlank(userPath) ? '/' : userPath);
  const path = normalised('user_path', 'subject', subject);
  if (!isBlank(userPath) && normalised('user_path', 'user_path', userPath).matchSubject !== path.matchSubject) {
    throw invalid('user_path', 'is another path than subject; give one of them');
  }
  return path;
}

function normalised(scope: Scope, param: string, subject: string): RuleSubject {
  const { subject: matchSubject, problem } = normaliseSubject(scope, subject);
  if (problem !== undefined) throw invalid(param, problem);
  return { scope, subject: shownSubject(scope, subject, matchSubject), matchSubject };
}

/** The name of a provider or model, of the form that the configuration asks for: another one would match nothing. */
function nameOf(scope: 'provider' | 'model', subject: string | undefined): string {
  if (isBlank(subject)) throw invalid('subject', 'is missing');
  if (scope === 'provider' && !/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(subject)) {
    throw invalid('subject', 'must be the name of a provider: 1 to 63 letters, digits, ".", "_" and "-"');
  }
  if (
    scope === 'model' &&
    (charactersIn(subject) > longestModel || subject !== subject.trim() || /[\p{Cc}\p{Cs}]/u.test(subject))
  ) {
    throw invalid(
      'subject',
      `must be 1 to ${longestModel} characters without blanks at its ends or control characters`,
    );
  }
  return subject;
}

/** The period of a `limit_key` (within `limit_key.`) or of the body itself (within nothing), in seconds. */
function readPeriod(members: Members, within: string): number {
  const { period, period_seconds: seconds } = members;
  const whole = within === '' ? 'period' : within.slice(0, -1);
  if (period !== undefined && seconds !== undefined) {
    throw invalid(whole, 'is ambiguous: give period or period_seconds, not both');
  }
  if (period === undefined && seconds === undefined) throw invalid(whole, 'is missing; give period or period_seconds');
  const name = readWord(period, `${within}period`, periods);
  if (name !== undefined) return namedPeriods[name];
  if (isPeriod(seconds)) return seconds;
  throw invalid(`${within}period_seconds`, `must be a whole number from 1 to ${longestPeriodSeconds}`);
}

function readReason(members: Members): string | undefined {
  const reason = members['reason'] === null ? undefined : readText(members, 'reason');
  if (reason === undefined || reason === '') return undefined;
  if (charactersIn(reason) > longestReason) throw invalid('reason', `must have at most ${longestReason} characters`);
  return reason;
}

function isBlank(text: string | undefined): text is '' | undefined {
  return text === undefined || text.trim() === '';
}
