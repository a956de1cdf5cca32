// One agent with one provider: a gateway that leads its models there, a fresh home, a key of its own, two turns, and what is wrong in the end.
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import type { TriedProvider } from '../clients/providers.ts';
import type { Fleet } from '../support/fleet.ts';
import type { LogLine } from '../support/process.ts';
import type { Heard } from '../support/scripted-model/heard.ts';
import type { Saying } from '../support/scripted-model/scenarios.ts';
import { type ScriptedModel, startScriptedModel, type Taken } from '../support/scripted-model/server.ts';
import { type Teardown, temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Agent, Workplace } from './agent.ts';
import { folderOf } from './install.ts';
import { faultsOf, filesIn, words } from './task.ts';
import { runFor } from './turn.ts';

export interface Row {
  readonly agent: Agent;
  readonly provider: TriedProvider;
  /** That of the second turn: the same, or another one. */
  readonly second: TriedProvider;
}

/** Where a row takes place. */
export interface World {
  /** Of this row. */
  readonly t: Teardown;
  readonly fleet: Fleet;
  /** The folder for what providers were asked, a file for each row. */
  readonly keepAt: string | undefined;
}

export interface Outcome extends Row {
  /** Empty: all is as it must be. */
  readonly faults: readonly string[];
  /** What the gateway left out of requests, by the names of their members. */
  readonly dropped: readonly string[];
  /** Of both turns together. */
  readonly seconds: number;
}

/** Providers whose models think without being asked. */
const thinksUnasked: ReadonlySet<TriedProvider['wire']['name']> = new Set(['chat', 'responses']);
/** Most that a turn may take, in milliseconds. */
const mostMs = 60_000;

/** Has the agent do its task. */
export async function outcomeOf(row: Row, { fleet, t, keepAt }: World): Promise<Outcome> {
  const { agent, provider, second } = row;
  const home = temporaryDirectory(t, 'gateway-agent');
  const folder = join(home, 'work');
  const log = join(home, 'ledger.log');
  const secrets = { receipt: `receipt-${randomUUID()}`, memory: `memory-${randomUUID()}` };
  for (const each of [folder, join(home, 'tmp')]) mkdirSync(each);
  const [proxy] = fleet.proxies;
  if (proxy === undefined) throw new Error('the fleet has no proxy');
  const answer = agent.model(filesIn(folder), secrets);
  const models: ScriptedModel[] = [];
  /** Whatever model the agent names, this provider is asked from now on. */
  const lead = async (next: TriedProvider): Promise<void> => {
    const think = (heard: Heard): Saying => {
      return answer({ ...heard, thinks: heard.thinks || thinksUnasked.has(next.wire.name) });
    };
    const model = await startScriptedModel(t, next.wire, think, 1 + 100 * models.length);
    models.push(model);
    await proxy.applyConfig({ 'gateway.yaml': configOf(agent, next, model) });
  };
  await lead(provider);
  const { id: keyId, value: key } = await issueKey(fleet);
  const place: Workplace = {
    url: proxy.url,
    key,
    home,
    folder,
    installed: folderOf(agent.source),
    ledger: [process.execPath, resolve(import.meta.dirname, 'ledger.ts'), log, secrets.receipt, secrets.memory],
  };
  for (const [name, text] of Object.entries(agent.files(place))) {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), text);
  }
  const startedMs = performance.now();
  const faults: string[] = [];
  let printed = '';
  for (const isSecond of [false, true]) {
    if (isSecond && second !== provider) await lead(second);
    const ended = await runFor({
      command: agent.command(place, isSecond ? words.second : words.first, isSecond),
      cwd: folder,
      env: environmentOf(agent, place),
      mostMs,
    });
    printed = ended.printed;
    if (ended.failure === undefined) continue;
    faults.push(`turn ${isSecond ? 2 : 1} ${ended.failure}: ${printed.trim().slice(-400)}`);
    break;
  }
  const asked = models.flatMap(({ requests }) => requests);
  if (keepAt !== undefined) writeFileSync(join(keepAt, `${nameOf(row)}.json`), JSON.stringify(asked, null, 2));
  const lines = proxy.process.requests().filter((line) => line['key_id'] === keyId);
  faults.push(...new Set([...refusalsIn(asked), ...failuresIn(lines), ...loginFaults(agent, asked)]));
  if (faults.length === 0)
    faults.push(...faultsOf({ folder, log: agent.hasLedger ? log : undefined, printed }, secrets));
  return { ...row, faults, dropped: droppedIn(lines), seconds: (performance.now() - startedMs) / 1000 };
}

function refusalsIn(asked: readonly Taken[]): readonly string[] {
  return asked.flatMap(({ refused }) => (refused === undefined ? [] : [`the provider refused: ${refused}`]));
}

/** Requests of models that failed, although the agent may have gone on; by the log of requests. */
function failuresIn(lines: readonly LogLine[]): readonly string[] {
  const failed = lines.filter((line) => line['requested_model'] !== undefined && Number(line['status']) >= 400);
  return failed.map(({ status, error_code: code }) => `the gateway answered ${JSON.stringify([status, code])}`);
}

function droppedIn(lines: readonly LogLine[]): readonly string[] {
  return [...new Set(lines.flatMap((line) => (line['dropped'] as readonly string[] | undefined) ?? []))];
}

/** For a file. */
function nameOf({ agent, provider, second }: Row): string {
  return `${agent.name} ${provider.wire.name} ${second.wire.name}`.toLowerCase().replaceAll(/[^a-z0-9.]+/g, '-');
}

/** Nothing of the one who runs this but what finds programs. */
function environmentOf(agent: Agent, place: Workplace): Record<string, string> {
  const path = [dirname(process.execPath), process.env['PATH']].join(delimiter);
  const { home } = place;
  return { PATH: path, HOME: home, TMPDIR: join(home, 'tmp'), LANG: 'C.UTF-8', TERM: 'dumb', ...agent.env(place) };
}

/** The config of a gateway that asks this provider, whatever model the agent names. */
function configOf(agent: Agent, provider: TriedProvider, { url, wire }: ScriptedModel): object {
  // What an agent takes for Anthropic's own model must be that one there: its bytes go through.
  const isOwn = (source: string): boolean => wire.name === 'messages' && source.startsWith('claude-');
  const models = [wire.model, ...agent.models.filter(isOwn)];
  return {
    server: { access_log: 'all' },
    providers: { [wire.name]: { ...provider.settings(url), ...authOf(agent), models } },
    aliases: agent.models.map((source) => {
      return { source, target: `${wire.name}/${isOwn(source) ? source : wire.model}` };
    }),
  };
}

function authOf({ login }: Agent): object {
  return login === undefined ? { api_key: 'sk-of-the-provider' } : { auth: 'client' };
}

/** What became of the login of an agent that has one: each request must have come with it. */
function loginFaults({ login }: Agent, asked: readonly Taken[]): readonly string[] {
  if (login === undefined) return [];
  const came = new Set(asked.map(({ received: { headers } }) => headers.authorization));
  const isAll = came.size === 1 && came.has(`Bearer ${login}`);
  const hasKey = asked.some(({ received: { headers } }) => headers['x-gateway-key'] !== undefined);
  return [
    ...(isAll ? [] : ['the login did not come with each request']),
    ...(hasKey ? ['the key of the gateway came'] : []),
  ];
}

/** A key as an operator gives it to a person; the proxy knows it. */
async function issueKey(fleet: Fleet): Promise<{ readonly id: string; readonly value: string }> {
  const answer = await fleet.admin('/admin/auth-keys', {
    method: 'POST',
    body: { name: `agent ${randomUUID()}`, user_path: '/agents' },
  });
  const key = (await answer.json()) as { readonly id: string; readonly value: string };
  await waitFor('the proxy to know the key', async () => {
    const listed = await fleet.proxies[0]?.fetch('/v1/models', { headers: { authorization: `Bearer ${key.value}` } });
    await listed?.body?.cancel();
    return listed?.status === 200;
  });
  return key;
}
