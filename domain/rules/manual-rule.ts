// A rule that an operator set through the admin API, and its document in the state store.
import { type Authorship, authorshipBody, readAuthorship } from './authorship.ts';
import { isOnStoreLoss, type OnStoreLoss } from './on-store-loss.ts';
import { type Rule, ruleKey } from './rule.ts';
import { normaliseSubject } from './scope.ts';

/** The kind of its documents; the id is the rule key. */
export const manualRuleKind = 'rate_limit';

/** The longest custom period in seconds; the same as in the configuration. */
const longestPeriodSeconds = 2_147_483_647;

/** A name of a rule, as the schemas allow it. */
const ruleName = /^[A-Za-z0-9._-](?:[A-Za-z0-9 ._-]{0,62}[A-Za-z0-9._-])?$/;

/** The cap of a manual rule. Null removes the cap of the configuration's rule; undefined keeps it. */
export type NamedCap = number | null;

/** A rule with caps that may refer to the configuration. Times are RFC 3339 texts in UTC. */
export interface ManualRule
  extends Omit<Rule, 'id' | 'source' | 'epoch' | 'maxRequests' | 'maxTokens' | 'blockedUntilMs' | 'bareId'>,
    Authorship {
  /** 0 only with `expiresAt`. Absent, also in documents of older versions: the cap of the configuration. */
  readonly maxRequests?: NamedCap;
  readonly maxTokens?: NamedCap;
  /** Absent, also in documents of older versions: as in the configuration. */
  readonly name?: string;
  readonly onStoreLoss?: OnStoreLoss;
}

/** The rule of a document; undefined when the body is not a rule, or its key is not the id. Unknown members are ignored. */
export function readManualRule(id: string, body: unknown): ManualRule | undefined {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return undefined;
  const members = body as Readonly<Record<string, unknown>>;
  const { scope, subject, per_child: perChild, period_seconds: seconds, mode } = members;
  const { max_requests: maxRequests, max_tokens: maxTokens, name, on_store_loss: onStoreLoss } = members;
  const authorship = readAuthorship(members);
  if ((scope !== 'user_path' && scope !== 'provider' && scope !== 'model') || typeof subject !== 'string')
    return undefined;
  if (typeof perChild !== 'boolean' || (perChild && scope !== 'user_path')) return undefined;
  if (seconds !== 0 && !isPeriod(seconds)) return undefined;
  if ((mode !== 'enforce' && mode !== 'shadow') || authorship === undefined) return undefined;
  if (onStoreLoss !== undefined && !isOnStoreLoss(onStoreLoss)) return undefined;
  if (!(name === undefined || (typeof name === 'string' && ruleName.test(name)))) return undefined;
  const mayBlock = authorship.expiresAt !== undefined;
  if (!isNamedCap(maxRequests, mayBlock) || !isNamedCap(maxTokens, mayBlock)) return undefined;
  if (maxRequests === undefined && maxTokens === undefined) return undefined;
  if (seconds === 0 && (maxRequests === undefined || typeof maxTokens === 'number')) return undefined;
  const { subject: matchSubject, shown } = normaliseSubject(scope, subject);
  if (matchSubject === undefined || ruleKey(scope, matchSubject, seconds) !== id) return undefined;
  return Object.freeze({
    key: id,
    ...(name === undefined ? {} : { name }),
    scope,
    subject: shown,
    matchSubject,
    perChild,
    periodSeconds: seconds,
    ...(maxRequests === undefined ? {} : { maxRequests }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    mode,
    ...(onStoreLoss === undefined ? {} : { onStoreLoss }),
    ...authorship,
  });
}

/** The body for `readManualRule`; the key is the id of the document. */
export function manualRuleBody(rule: ManualRule): object {
  return {
    ...(rule.name === undefined ? {} : { name: rule.name }),
    scope: rule.scope,
    subject: rule.subject,
    per_child: rule.perChild,
    period_seconds: rule.periodSeconds,
    ...(rule.maxRequests === undefined ? {} : { max_requests: rule.maxRequests }),
    ...(rule.maxTokens === undefined ? {} : { max_tokens: rule.maxTokens }),
    mode: rule.mode,
    ...(rule.onStoreLoss === undefined ? {} : { on_store_loss: rule.onStoreLoss }),
    ...authorshipBody(rule),
  };
}

/** 1 … 2^53−1. */
function isCap(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}

/** The length of a window in whole seconds. */
function isPeriod(value: unknown): value is number {
  return isCap(value) && value <= longestPeriodSeconds;
}

function isNamedCap(value: unknown, mayBlock: boolean): value is NamedCap | undefined {
  return value === undefined || value === null || isCap(value) || (mayBlock && value === 0);
}
