// Reads the bodies of rate-limit writes: normalises them and checks what the schemas cannot express. Pure.
import type { NamedCap } from '../../../domain/rules/manual-rule.ts';
import type { OnStoreLoss } from '../../../domain/rules/on-store-loss.ts';
import { periodSeconds } from '../../../domain/rules/period.ts';
import { ruleKey } from '../../../domain/rules/rule.ts';
import { normaliseSubject, type Scope } from '../../../domain/rules/scope.ts';
import type { RateLimitDelete } from '../../../schemas/types.ts';
import { bodies } from '../../../schemas/validation/generated/bodies.js';
import { createBodyReader, invalid, readExpiry, readWords } from '../../managed/read-body.ts';
import { readPathSubject } from '../../managed/read-subject.ts';

interface RuleSubject {
  readonly scope: Scope;
  /** The subject to show: a name as written, a user path normalised. */
  readonly subject: string;
  /** Normalised. */
  readonly matchSubject: string;
}

/** The rule that a request names. */
export interface RuleName extends RuleSubject {
  readonly key: string;
  /** 0: requests in flight. */
  readonly periodSeconds: number;
}

/** The rule of a PUT. Absent caps and `perChild` come from the configuration when it declares the same rule. */
export interface RuleWrite extends RuleName {
  readonly perChild?: boolean;
  readonly maxRequests?: NamedCap;
  readonly maxTokens?: NamedCap;
  readonly mode: 'enforce' | 'shadow';
  /** Absent: that of the configuration, if any. */
  readonly onStoreLoss?: OnStoreLoss;
  readonly name?: string;
  readonly reason?: string;
  readonly expiresAtMs?: number;
  /** The writer may only tighten this rule, as `ManualRule` says. */
  readonly tightens?: true;
}

const readWriteBody = createBodyReader(bodies.rateLimitWrite);
const readDeleteBody = createBodyReader(bodies.rateLimitDelete);
const readResetOneBody = createBodyReader(bodies.rateLimitResetOne);
const readResetBody = createBodyReader(bodies.rateLimitReset, { confirmation: 'reset_not_confirmed' });

/** The body of PUT /admin/rate-limits (`schemas/admin/rate-limit-write.schema.json`). Throws the refusal. */
export function readWrite(body: unknown, nowMs: number): RuleWrite {
  const given = readWriteBody(body);
  const { per_child: perChild, max_requests: maxRequests, max_tokens: maxTokens, mode, name } = given;
  const { on_store_loss: onStoreLoss } = given;
  const reason = readWords(given.reason);
  const named = nameOf(given);
  const expiresAtMs = readExpiry(given, nowMs);
  return {
    ...named,
    ...(perChild === undefined ? {} : { perChild }),
    ...(maxRequests === undefined ? {} : { maxRequests }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    mode,
    ...(onStoreLoss === undefined ? {} : { onStoreLoss }),
    ...(name === undefined || name === null ? {} : { name }),
    ...(reason === undefined ? {} : { reason }),
    ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
  };
}

/** The body of DELETE /admin/rate-limits (`schemas/admin/rate-limit-delete.schema.json`). Throws the refusal. */
export function readDelete(body: unknown): RuleName {
  return nameOf(readDeleteBody(body));
}

/** The body of POST /admin/rate-limits/reset-one (`schemas/admin/rate-limit-reset-one.schema.json`). Throws the refusal. */
export function readResetOne(body: unknown): RuleName {
  return nameOf(readResetOneBody(body));
}

/** Refuses a body of POST /admin/rate-limits/reset that does not confirm exactly. */
export function checkConfirmation(body: unknown): void {
  readResetBody(body);
}

/** The period is in `limit_key` or beside the subject, never in both. */
function nameOf(given: RateLimitDelete): RuleName {
  const subject = readSubject(given);
  const seconds = periodSeconds(given.limit_key ?? given);
  return { ...subject, periodSeconds: seconds, key: ruleKey(subject.scope, subject.matchSubject, seconds) };
}

function readSubject({ scope, subject = '', user_path: userPath = '' }: RateLimitDelete): RuleSubject {
  if (scope !== 'provider' && scope !== 'model') return readPathSubject({ subject, user_path: userPath });
  // A pattern for this would need syntax that not every validator supports.
  if (/\p{Cs}/u.test(subject)) throw invalid('subject', 'must not have control characters or unpaired surrogates');
  const { subject: matchSubject, shown, problem } = normaliseSubject(scope, subject);
  if (problem !== undefined) throw invalid('subject', problem);
  return { scope, subject: shown, matchSubject };
}
