// `model-gateway pin` and `model-gateway unpin`: all proxies keep to an earlier revision of the configuration until an end.
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { askAdmin, connectionHelp, connectionOptions } from './admin-api.ts';
import type { Outcome } from './commands.ts';

export const pinUsage = '[REVISION|previous --reason TEXT --for 2h]';
export const pinHelp = `usage: model-gateway pin REVISION --reason TEXT --for 2h
       model-gateway pin previous --reason TEXT --for 2h
       model-gateway pin

Puts an earlier revision of the configuration in force on all proxies within a second, whatever their directories hold, and keeps it there
until the end. What the directories hold meanwhile waits, and comes in force then. Without arguments it says what is pinned and what waits.

  REVISION       an id of twelve characters, as in status, metrics and log; the one in force can be pinned, so that it stays
  previous       the revision that was in force before the present one; while one is pinned, that one
  --reason TEXT  why; shown wherever the pin is
  --for LENGTH   minutes, hours or days such as 30m, 2h or 1d; at most 30d
  --json         the answer of the admin API
${connectionHelp}

exit code: 0 it is in force on all live proxies, or nothing is pinned; 1 it is not, or the gateway refuses or does not answer; 2 the command
itself is wrong`;

export const unpinUsage = '';
export const unpinHelp = `usage: model-gateway unpin

Ends the pin of the configuration: what the directories hold is put in force on all proxies within a second.

  --json         the answer of the admin API
${connectionHelp}

exit code: 0 done, 1 nothing is pinned, or the gateway refuses or does not answer, 2 the command itself is wrong`;

const options = {
  ...connectionOptions,
  reason: { type: 'string' },
  for: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const;

interface Pinned {
  readonly config_revision: string;
  readonly pin: {
    readonly revision: string;
    readonly reason: string;
    readonly expires_at: string;
    readonly updated_by: string;
  } | null;
  readonly waiting_revision: string | null;
  readonly waiting_problems: readonly string[];
  readonly proxies: { readonly live: number; readonly in_force: number };
  readonly unusable: readonly { readonly where: string; readonly problem: string }[];
}

const path = 'config/pin';
/** Proxies follow within a second, and say so twice a second; it is waited for them so often. Milliseconds. */
const [lookMs, mostLooks] = [250, 20];

export async function pin(args: readonly string[]): Promise<Outcome> {
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const [revision, ...others] = positionals;
  const { url, reason, for: length, json } = values;
  const isWrite = revision !== undefined;
  if (others.length > 0 || isWrite !== (reason !== undefined) || isWrite !== (length !== undefined))
    return { output: `usage: model-gateway pin ${pinUsage}`, code: 2 };
  if (isWrite) await askAdmin(url, { method: 'PUT', path, body: { revision, reason, expires_in: length } });
  const said = isWrite ? await everywhere(url) : await look(url);
  const code = said.pin === null || isEverywhere(said) ? 0 : 1;
  return { output: json ? JSON.stringify(said, null, 2) : inWords(said), code, isReport: true };
}

export async function unpin(args: readonly string[]): Promise<Outcome> {
  const { values } = parseArgs({ args: [...args], options: { ...connectionOptions, json: options.json } });
  await askAdmin(values.url, { method: 'DELETE', path });
  const said = await look(values.url);
  return { output: values.json ? JSON.stringify(said, null, 2) : inWords(said), code: 0 };
}

async function look(url: string | undefined): Promise<Pinned> {
  return (await askAdmin(url, { path })) as Pinned;
}

/** Waits until all live proxies have it in force, or say that they cannot. */
async function everywhere(url: string | undefined): Promise<Pinned> {
  let said = await look(url);
  for (let looks = 1; looks < mostLooks && !isEverywhere(said) && said.unusable.length === 0; looks += 1) {
    await setTimeout(lookMs);
    said = await look(url);
  }
  return said;
}

function isEverywhere({ proxies, unusable }: Pinned): boolean {
  return proxies.live > 0 && proxies.in_force === proxies.live && unusable.length === 0;
}

function inWords({ config_revision, pin: pinned, proxies, unusable, ...waiting }: Pinned): string {
  if (pinned === null) return `nothing is pinned: the control plane follows its directory, revision ${config_revision}`;
  const { revision, reason, expires_at, updated_by } = pinned;
  const { waiting_revision: next, waiting_problems: problems } = waiting;
  return [
    `revision ${revision} is pinned until ${expires_at}, by ${updated_by}: ${reason}`,
    `in force on ${proxies.in_force} of ${proxies.live} live proxies`,
    ...unusable.map(({ where, problem }) => `cannot be put in force on ${where}: ${problem}`),
    next === null
      ? 'nothing waits: the directory of the control plane holds the same'
      : `revision ${next} waits in the directory${problems.length === 0 ? '' : ', and cannot be used:'}`,
    ...(next === null ? [] : problems),
    'to end it: model-gateway unpin',
  ].join('\n');
}
