// `model-gateway explain`: what would become of a request, or what became of one.
import { parseArgs } from 'node:util';
import { askAdmin, connectionHelp, connectionOptions } from './admin-api.ts';
import type { Outcome } from './commands.ts';

export const explainUsage = 'MODEL [--user-path PATH] [--endpoint PATH] [--input-tokens N] | --id ID';
export const explainHelp = `usage: model-gateway explain ${explainUsage} [--json] [--url URL]

Says what would become of a request for the model now: where it would go, what stands in the way, and which rules, budgets and
guardrails look at it, each with the line or the person that set it. Nothing is sent and nothing is counted.

  --user-path PATH   who asks; default /
  --endpoint PATH    such as /v1/messages; with it, each target says whether it can be asked there
  --input-tokens N   the tokens of its prompt: targets with a smaller context window are passed over
  --header NAME:TEXT a header that it has, for conditions of the alias; may be given several times
  --tools N          how many tools it offers, for the same
  --images           it holds an image, for the same
  --key-id ID        asks as the key with this id
  --id ID            instead: the request whose answer had this X-Gateway-Explain-Id
  --json             the whole answer of the admin API
${connectionHelp}

exit code: 0 it would be sent, 1 it would be refused, or the gateway does not answer, 2 the command itself is wrong`;

const options = {
  ...connectionOptions,
  'user-path': { type: 'string' },
  endpoint: { type: 'string' },
  'input-tokens': { type: 'string' },
  header: { type: 'string', multiple: true },
  tools: { type: 'string' },
  images: { type: 'boolean' },
  'key-id': { type: 'string' },
  id: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const;

interface Said {
  readonly outcome?: string;
  readonly refusal?: { readonly message: string };
  readonly targets?: readonly {
    readonly target: string;
    readonly would: string;
    readonly says: string;
    readonly conditions?: readonly Condition[];
  }[];
  readonly rules?: readonly Counted[];
  readonly budgets?: readonly Placed[];
  readonly guardrails?: readonly (Placed & { readonly kind: string; readonly mode: string })[];
}

interface Condition {
  readonly when: string;
  readonly holds?: boolean;
}

interface Placed {
  readonly id?: string;
  readonly name?: string;
  readonly source: string;
  readonly declared_at?: string;
  readonly updated_by?: string;
  readonly reason?: string;
}

interface Counted extends Placed {
  readonly scope: string;
  readonly subject?: string;
  readonly period_label: string;
  readonly exhausted: boolean;
  readonly retry_after_seconds?: number;
}

export async function explain(args: readonly string[]): Promise<Outcome> {
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const [model, ...others] = positionals;
  if ((model === undefined) === (values.id === undefined) || others.length > 0)
    return {
      output: `name one model, or one request with --id\nusage: model-gateway explain ${explainUsage}`,
      code: 2,
    };
  const query = new URLSearchParams({
    ...(model === undefined ? {} : { model }),
    ...(values['user-path'] === undefined ? {} : { user_path: values['user-path'] }),
    ...(values.endpoint === undefined ? {} : { endpoint: values.endpoint }),
    ...(values['input-tokens'] === undefined ? {} : { input_tokens: values['input-tokens'] }),
    ...(values.tools === undefined ? {} : { tools: values.tools }),
    ...(values.images === undefined ? {} : { images: 'true' }),
    ...Object.fromEntries((values.header ?? []).map(headerParameter)),
    ...(values['key-id'] === undefined ? {} : { key_id: values['key-id'] }),
  });
  const path = values.id === undefined ? `explain?${query.toString()}` : `explain/${encodeURIComponent(values.id)}`;
  const said = (await askAdmin(values.url, { path })) as Said;
  const code = said.refusal === undefined ? 0 : 1;
  return { output: values.json || said.outcome === undefined ? JSON.stringify(said, null, 2) : inWords(said), code };
}

function inWords({ outcome = '', targets = [], rules = [], budgets = [], guardrails = [] }: Said): string {
  return [
    outcome,
    ...section(
      'targets',
      targets.map(
        ({ target, says, conditions = [] }) => `${target}: ${[says, ...conditions.map(sayCondition)].join('; ')}`,
      ),
    ),
    ...section(
      'rules',
      rules.map((rule) => `${nameOf(rule)}: ${stateOf(rule)}${placeOf(rule)}`),
    ),
    ...section(
      'budgets',
      budgets.map((budget) => `${budget.name ?? budget.id}${placeOf(budget)}`),
    ),
    ...section(
      'guardrails',
      guardrails.map((each) => `${each.name}: ${each.kind}, ${each.mode}${placeOf(each)}`),
    ),
  ].join('\n');
}

/** `x-tier: gold` as a parameter. */
function headerParameter(text: string): [name: string, value: string] {
  const colon = text.indexOf(':');
  const name = colon === -1 ? text : text.slice(0, colon);
  return [`header[${name.trim()}]`, colon === -1 ? '' : text.slice(colon + 1).trim()];
}

function sayCondition({ when, holds }: Condition): string {
  return `when ${when}: ${holds ?? 'not known'}`;
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`\n${title}`, ...lines.map((line) => `  ${line}`)];
}

function nameOf({ name, scope, subject = '', period_label: period }: Counted): string {
  return name ?? `${scope} ${subject} ${period}`.replaceAll('  ', ' ');
}

function stateOf({ exhausted, retry_after_seconds: seconds }: Counted): string {
  return exhausted ? `used up, admits again in ${seconds ?? '?'} s` : 'has room';
}

function placeOf({ source, declared_at: line, updated_by: author, reason }: Placed): string {
  const place = source === 'config' ? line : [author, reason].filter(Boolean).join(': ');
  return place ? ` (${place})` : '';
}
