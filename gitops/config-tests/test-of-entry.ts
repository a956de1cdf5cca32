// A test of the configuration, made of an entry of the audit log: what was asked, and what became of it. No words of people are in it.
import { isConfigKey } from '../../domain/keys/config-key.ts';
import type { AuditEntry } from '../../domain/records/audit-entry.ts';
import type { Expected, Given, UsedBefore } from '../../schemas/types.ts';
import { writeTest } from './write-test.ts';

/** Refusals that the configuration decides. */
const ofConfig: ReadonlySet<string> = new Set([
  'rate_limit_exceeded',
  'budget_exceeded',
  'model_not_found',
  'no_target_matches',
  'model_access_denied',
  'user_path_denied',
]);
const beginningOfKeys = 'config:';

/** A file of tests; undefined: no test can be made of it, because it asks for no model, or its words have decided. */
export function testOfEntry(entry: AuditEntry): string | undefined {
  const { data, requested_model: model } = entry;
  const code = data.error_code;
  const isRefused = code !== undefined && ofConfig.has(code) && data.attempts.length === 0;
  if (data.event_type !== undefined || code?.startsWith('guardrail') === true) return undefined;
  if (model === undefined && !isRefused) return undefined;
  const used = isRefused ? usedBefore(entry) : [];
  const isUnknown = isRefused && data.rule !== undefined && used.length === 0;
  const given: Partial<Given> = {
    time: entry.timestamp,
    user_path: entry.user_path,
    ...callerOf(entry),
    model: model ?? 'any',
    ...(model === undefined ? {} : { endpoint: entry.path }),
    ...(entry.stream === true ? { stream: true } : {}),
    ...tokensOf(entry),
    ...(used.length === 0 ? {} : { used_before: used }),
  };
  const became = isRefused ? `is refused with ${code}` : 'is admitted';
  return writeTest({
    name: `${entry.request_id}: a request of ${entry.user_path}${model === undefined ? '' : ` for ${model}`} ${became}`,
    given,
    expect: expectedOf(entry, isRefused),
    notes: [
      ...(isUnknown ? ['What the rule had counted is not recorded: name it as given.used_before.'] : []),
      ...(model === undefined
        ? ['It was refused before its body was read, so its model is not known, and does not matter.']
        : []),
      ...(entry.auth_key_id !== undefined && !isConfigKey({ id: entry.auth_key_id })
        ? ['It had a key that the configuration does not declare: the models that this may use are not known here.']
        : []),
      ...(isRefused || entry.resolved_model === undefined ? [] : [`It was answered by ${entry.resolved_model}.`]),
    ],
  });
}

function expectedOf(
  { data, alias_used: isAlias, requested_model: model, status_code: status }: AuditEntry,
  isRefused: boolean,
): Expected {
  const { rule, error_code: code } = data;
  if (isRefused && code !== undefined)
    return { refused: { ...(rule === undefined ? {} : { by: rule }), code, status } };
  return { admitted: true, ...(isAlias === true && model !== undefined ? { alias: model } : {}) };
}

function callerOf({ auth_key_id: id, data: { labels = [] } }: AuditEntry): Partial<Given> {
  if (id !== undefined && isConfigKey({ id })) return { key: id.slice(beginningOfKeys.length) };
  return labels.length === 0 ? {} : { labels: [...labels] };
}

function tokensOf({ usage }: AuditEntry): Partial<Given> {
  if (usage === undefined || usage.total_tokens === 0) return {};
  const { input_tokens: input, output_tokens: output, cached_input_tokens: cached } = usage;
  return { tokens: { input, output, ...(cached > 0 ? { cached } : {}) } };
}

/** The rule was used up: its cap stands in the message of the refusal. */
function usedBefore({ data: { error_message: message = '', error_code: code, rule } }: AuditEntry): UsedBefore[] {
  if (rule === undefined) return [];
  if (code === 'budget_exceeded') {
    const spent = /: (\d+\.\d+) of \d/.exec(message)?.[1];
    return spent === undefined ? [] : [{ budget: rule, spent: Number(spent) }];
  }
  const [, cap, concurrent, what] = /: (\d+) (concurrent )?(request|token)s?\b/.exec(message) ?? [];
  if (cap === undefined) return [];
  const amount = Number(cap);
  if (concurrent !== undefined) return [{ rule, in_flight: amount }];
  return [what === 'token' ? { rule, tokens: amount } : { rule, requests: amount }];
}
