// `model-gateway rollout`: how far the rollout of a revision is; and its end before its time, for all proxies or for none.
import { parseArgs } from 'node:util';
import { askAdmin, connectionHelp, connectionOptions } from './admin-api.ts';
import type { Outcome } from './commands.ts';

export const rolloutUsage = '[finish|abort --reason TEXT]';
export const rolloutHelp = `usage: model-gateway rollout
       model-gateway rollout finish [--reason TEXT]
       model-gateway rollout abort --reason TEXT

Says which revision of the configuration is rolled out, which proxies have it first, and how it does there beside the limits.

  finish         all proxies take it now, also one that was aborted
  abort          none has it; it waits until the directory has another one
  --reason TEXT  why; shown with the rollout
  --json         the answer of the admin API
${connectionHelp}

exit code: 0 done, 1 it was aborted, or the gateway refuses or does not answer, 2 the command itself is wrong`;

const options = {
  ...connectionOptions,
  reason: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const;

interface Figures {
  readonly requests: number;
  readonly error_share: number | null;
  readonly refusal_share: number | null;
  readonly p95_ms: number | null;
}

interface Shown {
  readonly phase: string;
  readonly revision: string | null;
  readonly former_revision: string | null;
  readonly first: readonly string[];
  readonly until: string | null;
  readonly reason: string | null;
  readonly figures: Figures | null;
  readonly proxies: readonly { readonly instance: string; readonly live: boolean; readonly config_revision: string }[];
}

const path = 'config/rollout';
const phases: Readonly<Record<string, string>> = { finish: 'finished', abort: 'aborted' };

export async function rollout(args: readonly string[]): Promise<Outcome> {
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const [verb, ...others] = positionals;
  const { url, reason, json } = values;
  const phase = verb === undefined ? undefined : phases[verb];
  const isWrong = verb === undefined ? reason !== undefined : phase === undefined || (verb === 'abort' && !reason);
  if (others.length > 0 || isWrong) return { output: `usage: model-gateway rollout ${rolloutUsage}`, code: 2 };
  const body = { phase, ...(reason === undefined ? {} : { reason }) };
  const said = (await askAdmin(url, phase === undefined ? { path } : { method: 'PUT', path, body })) as Shown;
  const code = said.phase === 'aborted' && verb === undefined ? 1 : 0;
  return { output: json ? JSON.stringify(said, null, 2) : inWords(said), code, isReport: true };
}

function inWords({ phase, revision, former_revision: former, first, until, reason, figures, proxies }: Shown): string {
  if (revision === null) return 'nothing was rolled out yet';
  const end = phase === 'canary' ? ` until ${until}` : until === null ? '' : ` since ${until}`;
  const live = proxies.filter((each) => each.live);
  const has = live.filter((each) => each.config_revision === revision).length;
  return [
    `revision ${revision}: ${phase}${end}${reason === null ? '' : `, ${reason}`}`,
    `in force on ${has} of ${live.length} live proxies${former === null ? '' : `; the others have ${former}`}`,
    ...(first.length === 0 ? [] : [`first: ${first.join(', ')}`]),
    ...(figures === null || phase !== 'canary' ? [] : [sayFigures(figures)]),
  ].join('\n');
}

function sayFigures({ requests, error_share, refusal_share, p95_ms }: Figures): string {
  const percent = (share: number | null): string => (share === null ? '–' : `${Math.round(share * 10_000) / 100} %`);
  return `${requests} requests there: errors ${percent(error_share)}, refusals ${percent(refusal_share)}, p95 ${p95_ms ?? '–'} ms`;
}
