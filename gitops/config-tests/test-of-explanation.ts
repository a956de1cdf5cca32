// A test of the configuration, made of an explanation: what was asked, what its rules had counted, and what would become of it.
import { isConfigKey } from '../../domain/keys/config-key.ts';
import { sliceAt, sliceCount, sliceStartMs } from '../../domain/rules/slice.ts';
import { unixTime } from '../../domain/timestamp.ts';
import type { Expected, Given, UsedBefore } from '../../schemas/types.ts';
import { type WrittenTest, writeTest } from './write-test.ts';

/** The members of an explanation that a test is made of; see `schemas/admin/explanation.schema.json`. */
export interface ExplainedForTest {
  readonly request: {
    readonly user_path: string;
    readonly model: string;
    readonly stream: boolean;
    readonly endpoint?: string;
    readonly thread?: string;
    readonly input_tokens?: number;
    readonly key?: { readonly id: string; readonly name: string };
  };
  readonly refusal?: {
    readonly status: number;
    readonly code: string;
    readonly rule?: string;
    readonly retry_after_seconds?: number;
  };
  readonly resolution: { readonly aliases: readonly { readonly name: string }[]; readonly strategy?: string };
  readonly rules: readonly CountedRule[];
  readonly budgets: readonly {
    readonly scope: string;
    readonly subject: string;
    readonly period_label: string;
    readonly spent?: number;
  }[];
  readonly targets: readonly {
    readonly target: string;
    readonly would: string;
    readonly reason?: string;
    readonly rules: readonly CountedRule[];
  }[];
  readonly server_time: string;
}

interface CountedRule {
  readonly scope: string;
  readonly subject: string;
  readonly period_label: string;
  readonly period_seconds: number;
  readonly requests_used?: number;
  readonly tokens_used?: number;
  readonly in_flight?: number;
  readonly max_requests?: number;
  readonly max_tokens?: number;
  readonly retry_after_seconds?: number;
}

/** Why a target is passed over that a test knows, too. */
const ofConfig: ReadonlySet<string | undefined> = new Set([
  undefined,
  'saturated',
  'condition_false',
  'not_granted',
  'unsupported_operation',
  'context_window_too_small',
  'drained',
  'attempts_used_up',
  'unknown_model',
]);

/** A file of tests. `of`: the id of the request, and its endpoint; absent: it was not sent. */
export function testOfExplanation(
  explained: ExplainedForTest,
  of: { readonly requestId?: string; readonly endpoint?: string } = {},
): string {
  return writeTest(testOf(explained, of));
}

function testOf(
  explained: ExplainedForTest,
  { requestId, endpoint }: { readonly requestId?: string; readonly endpoint?: string },
): WrittenTest {
  const { request, refusal, server_time: time, targets } = explained;
  const { user_path: userPath, model, key } = request;
  const path = endpoint ?? request.endpoint;
  const declared = key !== undefined && isConfigKey(key);
  const nowMs = unixTime(time) ?? 0;
  const down = targets.filter(({ reason }) => reason === 'drained').map(({ target }) => target);
  const used = usedBefore(explained, nowMs);
  const given: Partial<Given> = {
    time,
    user_path: userPath,
    ...(declared ? { key: key.name } : {}),
    model: model === '' ? 'any' : model,
    ...(path === undefined ? {} : { endpoint: path }),
    ...(request.stream ? { stream: true } : {}),
    ...(request.thread === undefined ? {} : { session: request.thread }),
    ...(request.input_tokens === undefined ? {} : { tokens: { input: request.input_tokens } }),
    ...(down.length === 0 ? {} : { down }),
    ...(used.length === 0 ? {} : { used_before: used }),
  };
  const what = `${requestId === undefined ? '' : `${requestId}: `}a request of ${userPath}${model === '' ? '' : ` for ${model}`}`;
  const became = refusal === undefined ? 'is admitted' : `is refused with ${refusal.code}`;
  return { name: `${what} ${became}`, given, expect: expectedOf(explained), notes: notesOf(explained) };
}

function expectedOf({ refusal, resolution, targets }: ExplainedForTest): Expected {
  const [alias] = resolution.aliases;
  const named = alias === undefined ? {} : { alias: alias.name };
  if (refusal !== undefined) {
    const { rule, code, status, retry_after_seconds: seconds } = refusal;
    const wait = seconds === undefined ? {} : { retry_after: `${seconds}s` };
    return { refused: { ...(rule === undefined ? {} : { by: rule }), code, status, ...wait }, ...named };
  }
  const asked = targets.filter(({ would }) => would !== 'skip').map(({ target }) => target);
  const isOrdered = (resolution.strategy === undefined || resolution.strategy === 'failover') && isOfConfig(targets);
  return { admitted: true, ...(isOrdered && asked.length > 0 ? { targets: asked } : {}), ...named };
}

function isOfConfig(targets: ExplainedForTest['targets']): boolean {
  return targets.every(({ reason }) => ofConfig.has(reason));
}

function notesOf({ request: { key, model }, targets, resolution }: ExplainedForTest): readonly string[] {
  return [
    ...(key !== undefined && !isConfigKey(key)
      ? ['It had a key that the configuration does not declare: name its labels as given.labels if they matter.']
      : []),
    ...(model === ''
      ? ['It was refused before its body was read, so its model is not known, and does not matter.']
      : []),
    ...(resolution.strategy === undefined || resolution.strategy === 'failover'
      ? []
      : [`The order of targets depends on turns (${resolution.strategy}), so it is not expected.`]),
    ...(isOfConfig(targets) ? [] : ['The order of targets depended on how providers were, so it is not expected.']),
  ];
}

function usedBefore({ rules, budgets, targets }: ExplainedForTest, nowMs: number): UsedBefore[] {
  const all = [...rules, ...targets.flatMap((target) => target.rules)];
  const byTitle = new Map(all.map((rule) => [titleOf(rule), rule]));
  const ofRules = [...byTitle].flatMap(([rule, counted]): UsedBefore[] => {
    const { requests_used: requests = 0, tokens_used: tokens = 0, in_flight: open = 0 } = counted;
    const amounts = {
      ...(requests > 0 && counted.max_requests !== undefined && counted.period_seconds > 0 ? { requests } : {}),
      ...(tokens > 0 && counted.max_tokens !== undefined ? { tokens } : {}),
      ...(open > 0 && counted.period_seconds === 0 ? { in_flight: open } : {}),
    };
    return Object.keys(amounts).length === 0 ? [] : [{ rule, ...amounts, ...agoOf(counted, nowMs) }];
  });
  const ofBudgets = budgets.flatMap((budget) =>
    budget.spent === undefined ? [] : [{ budget: titleOf(budget), spent: budget.spent }],
  );
  return [...ofRules, ...ofBudgets];
}

function titleOf({
  scope,
  subject,
  period_label: period,
}: Pick<CountedRule, 'scope' | 'subject' | 'period_label'>): string {
  return `${scope} ${subject} ${period}`;
}

/** When all of it must have come, so that the first of it leaves the window after the same wait. */
function agoOf(
  { retry_after_seconds: wait, period_seconds: period }: CountedRule,
  nowMs: number,
): Pick<UsedBefore, 'ago'> {
  if (wait === undefined || period === 0) return {};
  const startMs = sliceStartMs(sliceAt(nowMs + wait * 1_000, period) - sliceCount, period);
  return startMs >= nowMs ? {} : { ago: `${nowMs - startMs}ms` };
}
