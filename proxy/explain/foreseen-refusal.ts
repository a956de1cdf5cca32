// Which refusal a request would get now: the first one on its way, as the line has them.
import { isActive } from '../../domain/keys/auth-key.ts';
import { ruleLabel } from '../../domain/rules/rule.ts';
import type { TargetDrain } from '../../domain/targets/target-drain.ts';
import { foremost } from '../budgets/budgets-in-force.ts';
import type { SpentBudget } from '../budgets/spent-budget.ts';
import { type Refusal, refusal } from '../errors.ts';
import { isGuarded } from '../guardrails/applying.ts';
import type { Guardrail } from '../guardrails/guardrail.ts';
import { rulesOfConsumer, rulesOfTarget } from '../limits/counted-rules.ts';
import { rejectionWords } from '../limits/headers.ts';
import type { Matches } from '../limits/match.ts';
import { explain, waitOf } from '../limits/rejection.ts';
import { drainedRefusal } from '../providers/drained-refusal.ts';
import { closedToGuarded } from '../realtime/closed-to-guarded.ts';
import { credentialMissing } from '../snapshot/client-credential.ts';
import type { Route } from '../snapshot/snapshot.ts';
import { budgetRefusal, budgetWaitSeconds } from '../stages/budget.ts';
import type { ForeseenRefusal } from './explanation.ts';
import { countingOf, type ExplainSources, type Question } from './question.ts';
import type { Resolved } from './resolution.ts';

/** The facts of a request after its route is resolved. */
export interface Way {
  /** The consumer's path; undefined: the key may not name this one. */
  readonly userPath: string | undefined;
  readonly resolved: Resolved;
}

/** Undefined: a target would be asked, or the gateway answers by itself. */
export function foreseenRefusal(
  { userPath, resolved }: Way,
  question: Question,
  { limiter, budgets, snapshot, targets: states }: Pick<ExplainSources, 'limiter' | 'budgets' | 'snapshot' | 'targets'>,
): ForeseenRefusal | undefined {
  const { key, nowMs, authorityMs, before, endpoint } = question;
  if (key !== undefined && !isActive(key, authorityMs)) return said(refusal('invalid_api_key'));
  if (userPath === undefined) return said(refusal('user_path_denied'));
  const counts = countingOf(question);
  const isFree = counts === 'nothing' || before !== undefined;
  const verdict = isFree ? undefined : foremost(budgets.covering(userPath, key?.labels, nowMs));
  const spent = verdict === undefined ? undefined : outOfBudget(verdict, userPath, nowMs);
  // Sessions are aimed before they are counted.
  const isAimedFirst = endpoint?.line === 'realtime';
  if (spent !== undefined && !isAimedFirst) return spent;
  const consumer = before === undefined ? rulesOfConsumer(counts, userPath, limiter) : undefined;
  const rulesOf = (part: Route | undefined): Matches[] =>
    (part?.targets ?? []).map((target) => rulesOfTarget(counts, target, limiter));
  const isUsedUp = consumer !== undefined && waitOf(consumer, nowMs) > 0;
  // While bodies still come, as at doors, the targets are not known.
  if (isUsedUp && !isAimedFirst) {
    return limited(endpoint?.line === 'opaque' ? [] : rulesOf(resolved.granted), consumer, nowMs);
  }
  const misled = astray(resolved, question, (named) => isClosed(named, userPath, question, snapshot.guardrails));
  if (misled !== undefined) return said(misled);
  if (spent !== undefined) return spent;
  const named = resolved.able?.targets ?? [];
  const drains = named.flatMap((target) => states.drainOf(target) ?? []);
  if (!isUsedUp && drains.length > 0 && drains.length === named.length) return drained(drains, nowMs);
  const targets = named
    .filter((target) => states.drainOf(target) === undefined)
    .map((target) => rulesOfTarget(counts, target, limiter));
  const areUsedUp = targets.length > 0 && targets.every((matches) => waitOf(matches, nowMs) > 0);
  return isUsedUp || areUsedUp ? limited(targets, consumer, nowMs) : undefined;
}

/** Whether guardrails are enforced where they cannot look at what is said. */
function isClosed(
  named: Route,
  userPath: string,
  { model, endpoint }: Question,
  guardrails: readonly Guardrail[],
): boolean {
  return endpoint?.line === 'realtime' && isGuarded(guardrails, { userPath, model, named });
}

/** The refusal of a name that leads to no target that can be asked. */
function astray(
  { route, suitable, granted, brought, able }: Resolved,
  { asking, model, endpoint }: Question,
  isShut: (named: Route) => boolean,
): Refusal | undefined {
  if (route === undefined) return refusal('model_not_found', { fill: { model } });
  if (suitable === undefined) return refusal('no_target_matches', { fill: { model } });
  if (granted === undefined) return refusal('model_access_denied', { fill: { model } });
  if (isShut(granted)) return closedToGuarded();
  const [lacking] = granted.targets;
  if (brought === undefined && asking && lacking) return credentialMissing(lacking.upstream, asking);
  if (able !== undefined || endpoint === undefined || endpoint.answersAlone) return undefined;
  return refusal(endpoint.refusedAs, { fill: { what: 'model', name: model, path: endpoint.path } });
}

function outOfBudget(verdict: SpentBudget, userPath: string, nowMs: number): ForeseenRefusal {
  const wait = budgetWaitSeconds(verdict, nowMs);
  return { ...said(budgetRefusal(verdict, userPath, nowMs)), retry_after_seconds: wait, rule: verdict.id };
}

/** The rule that decides is the one of the answer that a client would get. */
function limited(targets: readonly Matches[], consumer: Matches | undefined, nowMs: number): ForeseenRefusal {
  const rejection = explain(targets, consumer, nowMs);
  const code = rejection.isStoreLost ? 'rate_limit_store_unavailable' : 'rate_limit_exceeded';
  const refused = said(refusal(code, { fill: { ...rejectionWords(rejection) } }));
  return { ...refused, retry_after_seconds: rejection.retryAfterSeconds, rule: ruleLabel(rejection.rule) };
}

function drained(drains: readonly TargetDrain[], nowMs: number): ForeseenRefusal {
  const refused = drainedRefusal(drains, nowMs);
  return { ...said(refused), retry_after_seconds: Number(refused.headers['retry-after']) };
}

function said({ status, code, message }: Refusal): ForeseenRefusal {
  return { status, code: code ?? '', message };
}
