// Which refusal a request would get now: the first one on its way, as the line has them.
import { isActive } from '../../schemas/keys/auth-key.ts';
import { ruleLabel } from '../../schemas/rules/rule.ts';
import { type Refusal, refusal } from '../errors.ts';
import { rejectionWords } from '../limits/headers.ts';
import type { Matches } from '../limits/match.ts';
import { explain, waitOf } from '../limits/rejection.ts';
import type { ForeseenRefusal } from './explanation.ts';
import type { ExplainParts, Question } from './question.ts';
import type { Resolved } from './resolution.ts';

/** What a request has found on its way. */
export interface Way {
  /** The consumer's path; undefined: the key may not name this one. */
  readonly userPath: string | undefined;
  readonly resolved: Resolved;
}

/** Undefined: a target would be asked. */
export function foreseenRefusal(
  { userPath, resolved }: Way,
  question: Question,
  { limiter }: Pick<ExplainParts, 'limiter'>,
): ForeseenRefusal | undefined {
  const { key, model, nowMs, before } = question;
  if (key !== undefined && !isActive(key, nowMs)) return said(refusal('invalid_api_key'));
  if (userPath === undefined) return said(refusal('user_path_denied'));
  const { route, granted } = resolved;
  const consumer = before === undefined ? limiter.forUserPath(userPath) : undefined;
  const targets = (granted?.targets ?? []).map(({ upstream, model: id }) => limiter.forTarget(upstream.name, id));
  if (consumer !== undefined && waitOf(consumer, nowMs) > 0) return limited(targets, consumer, nowMs);
  if (route === undefined) return said(refusal('model_not_found', { fill: { model } }));
  if (granted === undefined) return said(refusal('model_access_denied', { fill: { model } }));
  if (targets.every((matches) => waitOf(matches, nowMs) > 0)) return limited(targets, consumer, nowMs);
  return undefined;
}

/** The rule that decides is the one of the answer that a client would get. */
function limited(targets: readonly Matches[], consumer: Matches | undefined, nowMs: number): ForeseenRefusal {
  const rejection = explain(targets, consumer, nowMs);
  const refused = said(refusal('rate_limit_exceeded', { fill: { ...rejectionWords(rejection) } }));
  return { ...refused, retry_after_seconds: rejection.retryAfterSeconds, rule: ruleLabel(rejection.rule) };
}

function said({ status, code, message }: Refusal): ForeseenRefusal {
  return { status, code: code ?? '', message };
}
