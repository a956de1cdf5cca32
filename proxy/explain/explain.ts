// Explains what would become of a request, and sends nothing. Pure: it takes no turn, counts nothing, and asks no clock.
import { dollarsOf } from '../../domain/budgets/money.ts';
import { budgetPeriodLabel } from '../../domain/budgets/period.ts';
import { isActive } from '../../domain/keys/auth-key.ts';
import { timestamp } from '../../domain/timestamp.ts';
import type { Budgets } from '../budgets/budgets.ts';
import type { Spender } from '../budgets/ledgers.ts';
import type { NamingEndpoint } from '../endpoints/naming-endpoint.ts';
import { type Counting, rulesOfConsumer, rulesOfTarget } from '../limits/counted-rules.ts';
import type { Matches } from '../limits/match.ts';
import { budgetWaitSeconds } from '../stages/budget.ts';
import type { AskedKey, Counted, Explanation, ForeseenRefusal, SpentBudget, TargetStep } from './explanation.ts';
import { foreseenRefusal } from './foreseen-refusal.ts';
import { guardrailSteps } from './guardrail-steps.ts';
import { matchingRules } from './matching-rules.ts';
import { mirrorStep } from './mirror-step.ts';
import { nearNames } from './near-names.ts';
import { nearRules } from './near-rules.ts';
import { countingOf, type ExplainSources, type Question, sees } from './question.ts';
import { resolveName } from './resolution.ts';
import { targetSteps } from './target-steps.ts';

/** The most near misses of rules, and of names. */
const mostNear = 10;

export function explainRequest(question: Question, parts: ExplainSources): Explanation {
  const { model, stream, endpoint, thread, inputTokens, key, nowMs } = question;
  const { snapshot, inForce, limiter } = parts;
  const allowed = consumerOf(question);
  const userPath = allowed ?? question.userPath;
  const resolved = resolveName(question, userPath, parts);
  const targets = targetSteps(resolved, question, parts);
  const mirror = mirrorStep(resolved, question, parts);
  const refused = foreseenRefusal({ userPath: allowed, resolved }, question, parts);
  const subjects = { userPath, model, targets: resolved.route?.targets ?? [] };
  return {
    request: {
      user_path: userPath,
      model,
      stream,
      ...(endpoint === undefined ? {} : { endpoint: endpoint.path }),
      ...(thread === undefined ? {} : { thread }),
      ...(inputTokens === undefined ? {} : { input_tokens: inputTokens }),
      ...(key === undefined ? {} : { key: describeKey(question, key) }),
    },
    outcome: outcomeOf(refused, targets, question),
    ...(refused === undefined ? {} : { refusal: refused }),
    resolution: resolved.resolution,
    ...(endpoint === undefined ? {} : { counted: countedAt(endpoint) }),
    budgets: spentBudgets(userPath, question, parts.budgets),
    rate_limits_enabled: inForce.prerequisites.enabled,
    rules: question.before ?? matchingRules(rulesOfConsumer(countingOf(question), userPath, limiter), question, parts),
    guardrails: guardrailSteps(question, userPath, resolved.route, parts),
    targets,
    ...(mirror === undefined ? {} : { mirror }),
    near_misses: [...nearNames(resolved, question, parts, mostNear), ...nearRules(subjects, question, parts, mostNear)],
    config_revision: snapshot.revision,
    server_time: timestamp(nowMs),
  };
}

/** The rules that an explanation speaks of: those of the consumer, and of each target. */
export function rulesOf(question: Question, parts: ExplainSources): Matches[] {
  const { limiter } = parts;
  const counts = countingOf(question);
  const userPath = consumerOf(question) ?? question.userPath;
  const { route } = resolveName(question, userPath, parts);
  const ofTargets = (route?.targets ?? []).map((target) => rulesOfTarget(counts, target, limiter));
  return [rulesOfConsumer(counts, userPath, limiter), ...ofTargets];
}

/** Whose budgets count the request. */
export function spenderOf(question: Question): Spender {
  return { userPath: consumerOf(question) ?? question.userPath, labels: question.key?.labels };
}

/** The consumer whose rules apply: the path of the key, else the named one; undefined when the key may not name one. */
export function consumerOf({ userPath, key }: Question): string | undefined {
  if (key === undefined) return userPath;
  if (key.userPath !== undefined) return key.userPath;
  return key.anyUserPath || userPath === '/' ? userPath : undefined;
}

function describeKey({ authorityMs }: Question, key: NonNullable<Question['key']>): AskedKey {
  const ended = key.enabled ? 'expired' : 'revoked';
  return {
    id: key.id,
    name: key.name,
    ...(key.userPath === undefined ? {} : { user_path: key.userPath }),
    any_user_path: key.anyUserPath,
    allowed_models: key.allowedModels,
    state: isActive(key, authorityMs) ? 'active' : ended,
    ...describeToken(key),
  };
}

function describeToken({ token }: NonNullable<Question['key']>): Pick<AskedKey, 'identity' | 'rights'> {
  if (token === undefined) return {};
  const rights = Object.entries(token.because).map(([right, { from, claims }]) => ({ right, from, claims }));
  return { identity: token.identity.name, rights };
}

function outcomeOf(
  refused: ForeseenRefusal | undefined,
  targets: readonly TargetStep[],
  { endpoint }: Pick<Question, 'endpoint'>,
): string {
  if (refused !== undefined) {
    const { status, code, rule, message } = refused;
    const kind = code === 'budget_exceeded' ? 'budget' : 'rule';
    const by = rule === undefined ? '' : ` by the ${kind} "${rule}"`;
    return `It would be refused with ${status} ${code}${by}: ${message}`;
  }
  const asked = targets.filter(({ would }) => would === 'ask').map(({ target }) => target);
  if (endpoint?.choice === 'keeper')
    return `It would be sent to the one that keeps its input file: ${asked.join(' or ')}.`;
  const [first, ...others] = asked;
  if (first === undefined) {
    const last = targets.find(({ would }) => would === 'last_resort');
    if (last === undefined && endpoint?.answersAlone) return 'The gateway would answer it by itself, with an estimate.';
    return `It would be sent to ${last?.target ?? 'no target'} as a last resort, because ${last?.says ?? 'there is none'}.`;
  }
  const behind = others.length === 0 ? '' : `; when that fails, to ${others.join(', then ')}`;
  return `It would be sent to ${first}${behind}.`;
}

const countedRules = { everything: 'all', user_paths: 'user_paths', nothing: 'none' } as const satisfies Record<
  Counting,
  Counted['rules']
>;

function countedAt({ counts, slot }: Pick<NamingEndpoint, 'counts' | 'slot'>): Counted {
  return { rules: countedRules[counts], slot, says: countedSentence(counts, slot) };
}

/** Spec, Limits 1, 9 and 10. */
function countedSentence(counts: Counting, slot: NamingEndpoint['slot']): string {
  if (counts === 'nothing') return 'No rule counts it, and none refuses it.';
  if (counts === 'user_paths')
    return 'A batch is one request under the rules on the user path, whatever is in it. It holds no slot, and no rule on a provider or model counts it.';
  const under = 'under every rule on the user path, the provider and the model';
  if (slot === 'session') return `A session is one request ${under}, and holds one slot until it ends.`;
  return `It is one request ${under}, and holds one slot until its answer has ended.`;
}

/** None where nothing is counted. */
function spentBudgets(userPath: string, question: Question, budgets: Pick<Budgets, 'covering'>): SpentBudget[] {
  if (countingOf(question) === 'nothing') return [];
  const { nowMs, key } = question;
  return budgets.covering(userPath, key?.labels, nowMs).map((verdict) => {
    const { id, scope, subject, effectiveSubject, perChild, mode, periodSeconds, amount, spent, endMs } = verdict;
    const isSeen = sees(question, scope === 'user_path' ? subject : undefined);
    return {
      id,
      scope,
      subject,
      effective_subject: effectiveSubject,
      per_child: perChild,
      mode,
      period_label: budgetPeriodLabel(periodSeconds),
      period_seconds: periodSeconds,
      period_end: timestamp(endMs),
      retry_after_seconds: budgetWaitSeconds(verdict, nowMs),
      ...(isSeen ? { amount: dollarsOf(amount), spent: dollarsOf(spent) } : {}),
    };
  });
}
