// The outcome that each target of a name would have, in the order in which they would be asked now.

import { familyPrefix } from '../../domain/aliases/name-table.ts';
import { expiryMs } from '../../domain/rules/authorship.ts';
import { foldCase, parseSelector } from '../../domain/selector.ts';
import type { TargetDrain } from '../../domain/targets/target-drain.ts';
import { timestamp } from '../../domain/timestamp.ts';
import { rulesOfTarget } from '../limits/counted-rules.ts';
import { foreseen } from '../limits/rejection.ts';
import type { LoggedTarget } from '../records/logged-trip.ts';
import { hedgeDelayMs } from '../snapshot/hedge.ts';
import type { InForce } from '../snapshot/in-force.ts';
import { mostCalls } from '../snapshot/retry-policy.ts';
import type { Route, Target } from '../snapshot/snapshot.ts';
import type { TargetState } from '../targets/target-state.ts';
import { conditionsOf } from './condition-steps.ts';
import type { TargetReason, TargetStep } from './explanation.ts';
import { matchingRules } from './matching-rules.ts';
import { countingOf, type ExplainSources, type Question, sees } from './question.ts';
import { type Resolved, tableOf } from './resolution.ts';

const words: Readonly<Record<TargetReason, string>> = {
  attempts_used_up: 'the calls that one request may make are used up before it',
  client_credential_missing: 'it is asked with a login of the client, and the request has none for it',
  condition_false: 'its condition is false for this request',
  breaker_half_open: 'its circuit breaker is half-open: one request finds out whether it works again',
  breaker_open: 'its circuit breaker is open, because it failed',
  drained: 'an operator has taken it out',
  no_credential: 'the gateway has no valid credential for its provider now',
  not_granted: 'the key may not use it',
  provider_left_out: 'its provider is left out, because it has no key',
  key_refused: 'its provider refuses the key of the gateway',
  context_window_too_small: 'its context window is smaller than the prompt',
  account_used_up: 'its provider says that the account of the key has no money left',
  model_unavailable: 'its provider says that it has no such model now',
  quota_used_up: 'its provider said that nothing is left of its own limits',
  resting: 'its provider asked to be left alone',
  saturated: 'a rule on it is used up',
  store_lost: 'a rule on it admits nothing while the state store does not answer',
  unknown_model: 'nothing has this name',
  unsupported_operation: 'its provider has nothing like the endpoint',
};

/** Those that can be asked first, behind them those that the endpoint has not or the key may not use, and those that lead nowhere. */
export function targetSteps(resolved: Resolved, question: Question, parts: ExplainSources): TargetStep[] {
  const { route, suitable, granted, brought, able, tooSmall, resolution } = resolved;
  const steps = able === undefined ? [] : askable(able, resolved, question, parts);
  const known = new Set([...(able?.targets ?? []), ...tooSmall]);
  const unable = (brought?.targets ?? []).filter((target) => !known.has(target));
  const withLogin = new Set(brought?.targets);
  const lacking = (granted?.targets ?? []).filter((target) => !withLogin.has(target));
  const kept = new Set(granted?.targets);
  const denied = (suitable?.targets ?? []).filter((target) => !kept.has(target));
  const fitting = new Set(suitable?.targets);
  const unfit = (route?.targets ?? []).filter((target) => !fitting.has(target));
  const barred = (target: Target, reason: TargetReason): TargetStep => {
    return {
      ...skipped(nameOf(target), reason),
      ...conditionsOf(target, resolved, question),
      ...mannerOf(target, question),
      rules: rulesOf(target, question, parts),
    };
  };
  const away = resolution.aliases.flatMap(({ name, family }) => leadingAway(family ?? name, parts.inForce));
  return [
    ...steps,
    ...tooSmall.map((target) => ({ ...barred(target, 'context_window_too_small'), says: sayWindow(target, question) })),
    ...unable.map((target) => barred(target, 'unsupported_operation')),
    ...lacking.map((target) => barred(target, 'client_credential_missing')),
    ...denied.map((target) => barred(target, 'not_granted')),
    ...unfit.map((target) => barred(target, 'condition_false')),
    ...away.map(([target, reason]) => skipped(target, reason)),
  ];
}

function askable(able: Route, resolved: Resolved, question: Question, parts: ExplainSources): TargetStep[] {
  const { choice = 'strategy' } = question.endpoint ?? {};
  const most = mostCalls(able.policy, able.targets.length);
  const attempts = { strategy: most, first: 1, keeper: Number.POSITIVE_INFINITY }[choice];
  const isBalanced = choice === 'strategy';
  let calls = 0;
  const inOrder = isBalanced ? parts.foretell(able, question) : able.targets;
  return inOrder.map((target) => {
    const state = parts.targets.of(target);
    const found = judge(target, state, question, parts);
    const isTooLate = found.would === 'ask' && calls >= attempts;
    if (found.would === 'ask') calls += 1;
    const { would, reason, until, since, said }: Judged = isTooLate
      ? { would: 'skip', reason: 'attempts_used_up', until: undefined }
      : found;
    const place = able.targets.indexOf(target);
    const weight = able.weights[place] ?? 0;
    const tier = able.tiers?.[place];
    return {
      target: nameOf(target),
      ...mannerOf(target, question),
      ...(isBalanced ? { weight } : {}),
      ...conditionsOf(target, resolved, question),
      ...(isBalanced && tier !== undefined ? { tier: tier + 1 } : {}),
      would,
      ...(reason === undefined ? {} : { reason }),
      says: said ?? sayOf(reason, since),
      ...(since === undefined ? {} : { since: timestamp(since) }),
      ...(until === undefined ? {} : { until: timestamp(until) }),
      ...(isBalanced && sees(question, undefined) ? remembered(state, able, question) : {}),
      rules: rulesOf(target, question, parts),
    };
  });
}

/** How a target is asked at the endpoint of the request; nothing where it has none. */
function mannerOf(target: Target, { endpoint }: Pick<Question, 'endpoint'>): Partial<TargetStep> {
  const manner = endpoint?.mannerOf(target);
  if (manner === undefined) return {};
  const { relay, format, isAssumed } = manner;
  return {
    relay,
    ...(format === undefined ? {} : { translated_to: format }),
    ...(isAssumed ? { is_assumed: isAssumed } : {}),
  };
}

function sayWindow({ facts }: Target, { needed }: Pick<Question, 'needed'>): string {
  const { fewest = 0, answer = 0 } = needed ?? {};
  const wanted = answer === 0 ? '' : `, and up to ${answer} are asked for`;
  return `its context window has ${facts?.context_window} tokens; the prompt has at least ${fewest}${wanted}`;
}

interface Judged {
  readonly would: TargetStep['would'];
  readonly reason: TargetReason | undefined;
  /** Unix milliseconds. */
  readonly until: number | undefined;
  readonly since?: number | undefined;
  /** In more words than the reason has. */
  readonly said?: string | undefined;
}

function sayOf(reason: TargetReason | undefined, since: number | undefined): string {
  if (reason === undefined) return 'nothing stands in its way';
  return since === undefined ? words[reason] : `${words[reason]}, since ${timestamp(since)}`;
}

function judge(target: Target, state: TargetState, question: Question, parts: ExplainSources): Judged {
  const { nowMs, endpoint } = question;
  const drain = parts.targets.drainOf(target);
  if (drain !== undefined) {
    const reason = drain.isWithoutCredential ? 'no_credential' : 'drained';
    return { would: 'skip', reason, until: expiryMs(drain), said: sayDrain(drain, question) };
  }
  const rejection = foreseen(rulesOfTarget(countingOf(question), target, parts.limiter), nowMs);
  if (rejection?.isStoreLost) return { would: 'skip', reason: 'store_lost', until: undefined };
  if (rejection !== undefined)
    return { would: 'skip', reason: 'saturated', until: nowMs + rejection.retryAfterSeconds * 1000 };
  // There breakers and rests count nothing.
  if (endpoint?.line === 'opaque' && endpoint.choice !== 'strategy')
    return { would: 'ask', reason: undefined, until: undefined };
  const { reason, sinceMs: since } = state.obstacle(nowMs) ?? {};
  const isOfClients = target.upstream.clientAuth !== 'none' && question.asking === undefined;
  const said =
    isOfClients && reason === undefined
      ? 'it is asked with the login of the client, if the request has one'
      : undefined;
  if (state.isUsable(nowMs)) return { would: 'ask', reason, until: undefined, since, said };
  return { would: 'last_resort', reason, until: Math.ceil(state.usableAtMs(nowMs)), since };
}

/** What a call of a target would meet now, and why. */
export function judged(target: Target, question: Question, parts: ExplainSources): Pick<TargetStep, 'would' | 'says'> {
  const { would, reason, since, said } = judge(target, parts.targets.of(target), question, parts);
  return { would, says: said ?? sayOf(reason, since) };
}

/** Who took it out and why is for operators of the whole gateway. */
function sayDrain({ updatedBy, expiresAt, reason, isWithoutCredential }: TargetDrain, question: Question): string {
  if (isWithoutCredential) return sees(question, undefined) ? `${words.no_credential}: ${reason}` : words.no_credential;
  return sees(question, undefined)
    ? `drained by ${updatedBy} until ${expiresAt}: ${reason}`
    : `${words.drained} until ${expiresAt}`;
}

function remembered(
  { latency, open, quota }: TargetState,
  { hedge }: Route,
  { nowMs, stream, endpoint }: Question,
): Partial<TargetStep> {
  const mean = latency.mean();
  const hedgeAfterMs = hedge && endpoint?.line !== 'realtime' ? hedgeDelayMs(hedge, latency, stream) : undefined;
  const left = [...quota.remaining(nowMs)];
  return {
    ...(open === 0 ? {} : { open_requests: open }),
    ...(mean === undefined ? {} : { first_byte_ms: Math.round(mean) }),
    ...(hedgeAfterMs === undefined ? {} : { hedge_after_ms: Math.round(hedgeAfterMs) }),
    ...(left.length === 0 ? {} : { learned_remaining: Object.fromEntries(left) }),
  };
}

/** The targets of an alias that lead nowhere, as they are written. */
function leadingAway(source: string, inForce: InForce): [string, TargetReason][] {
  const { config, aliases, prerequisites } = inForce;
  const dropped = (config.droppedTargets ?? []).filter(([from]) => from === source).map(([, target]) => target);
  const row = aliases.find(({ enforced, alias }) => enforced && alias.source === source);
  // The configuration was checked when it was loaded; the alias of an operator may have outlived its targets.
  if (row?.manual === undefined) return dropped.map((target) => [target, 'provider_left_out']);
  const { known } = prerequisites;
  const table = tableOf(inForce);
  return row.alias.targets.flatMap(({ model }): [string, TargetReason][] => {
    const provider = foldCase(parseSelector(model)?.provider ?? '');
    if (known.leftOut.has(provider)) return [[model, 'provider_left_out']];
    return familyPrefix(model) === undefined && table.leadOf(model) === undefined ? [[model, 'unknown_model']] : [];
  });
}

function skipped(target: string, reason: TargetReason): TargetStep {
  return { target, would: 'skip', reason, says: words[reason], rules: [] };
}

function rulesOf(target: Target, question: Question, parts: ExplainSources) {
  return matchingRules(rulesOfTarget(countingOf(question), target, parts.limiter), question, parts);
}

/** `<provider>/<model>`. */
export function nameOf({ upstream, model }: LoggedTarget): string {
  return `${upstream.name}/${model}`;
}
