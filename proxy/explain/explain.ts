// Explains what would become of a request, and sends nothing. Pure: it takes no turn, counts nothing, and asks no clock.
import { isActive } from '../../domain/keys/auth-key.ts';
import { timestamp } from '../../domain/timestamp.ts';
import { rulesOfConsumer } from '../limits/counted-rules.ts';
import { countedAt } from './counted.ts';
import type { AskedKey, Explanation, ForeseenRefusal, TargetStep } from './explanation.ts';
import { foreseenRefusal } from './foreseen-refusal.ts';
import { guardrailSteps } from './guardrail-steps.ts';
import { matchingRules } from './matching-rules.ts';
import { nearNames } from './near-names.ts';
import { nearRules } from './near-rules.ts';
import { countingOf, type ExplainParts, type Question } from './question.ts';
import { resolveName } from './resolution.ts';
import { spentBudgets } from './spent-budgets.ts';
import { targetSteps } from './target-steps.ts';

/** The most near misses of rules, and of names. */
const mostNear = 10;

export function explainRequest(question: Question, parts: ExplainParts): Explanation {
  const { model, stream, endpoint, thread, key, nowMs } = question;
  const { snapshot, inForce, limiter } = parts;
  const allowed = consumerOf(question);
  const userPath = allowed ?? question.userPath;
  const resolved = resolveName(question, userPath, parts);
  const targets = targetSteps(resolved, question, parts);
  const refused = foreseenRefusal({ userPath: allowed, resolved }, question, parts);
  const subjects = { userPath, model, targets: resolved.route?.targets ?? [] };
  return {
    request: {
      user_path: userPath,
      model,
      stream,
      ...(endpoint === undefined ? {} : { endpoint: endpoint.path }),
      ...(thread === undefined ? {} : { thread }),
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
    near_misses: [
      ...nearNames(resolved, { ...question, consumer: userPath }, parts, mostNear),
      ...nearRules(subjects, question, parts, mostNear),
    ],
    config_revision: snapshot.revision,
    server_time: timestamp(nowMs),
  };
}

/** The consumer whose rules apply: the path of the key, else the named one; undefined when the key may not name one. */
function consumerOf({ userPath, key }: Question): string | undefined {
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
  };
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
