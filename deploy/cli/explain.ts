// `model-gateway explain`: what would become of a request, or what became of one.
import { parseArgs } from 'node:util';
import { type Said, sayExplanation } from '../../gitops/cli/say-explanation.ts';
import { askAdmin, connectionHelp, connectionOptions } from './admin-api.ts';
import type { Outcome } from './commands.ts';
import { type AsTest, written } from './test-of.ts';

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
  --as-test          instead of words: a test of the configuration that expects the same; --out FILE writes it there
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
  'as-test': { type: 'boolean', default: false },
  out: { type: 'string' },
} as const;

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
  const said = (await askAdmin(values.url, { path })) as Said & AsTest & { readonly explanation?: AsTest };
  if (values['as-test']) {
    const { as_test: text = said.explanation?.as_test } = said;
    return text === undefined ? { output: 'no test can be made of it', code: 1 } : written(text, values);
  }
  const code = said.refusal === undefined ? 0 : 1;
  return {
    output: values.json || said.outcome === undefined ? JSON.stringify(said, null, 2) : sayExplanation(said),
    code,
  };
}

/** `x-tier: gold` as a parameter. */
function headerParameter(text: string): [name: string, value: string] {
  const colon = text.indexOf(':');
  const name = colon === -1 ? text : text.slice(0, colon);
  return [`header[${name.trim()}]`, colon === -1 ? '' : text.slice(colon + 1).trim()];
}
