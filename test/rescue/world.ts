// One gateway and one server that plays all providers, for all cells: each cell has models, and an alias, of its own.
import { createServer } from 'node:tls';
import { certificate } from '../support/certificate.ts';
import { type Entry, type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { freePort, listen } from '../support/ports.ts';
import { watchSlowdown } from '../support/slowdown.ts';
import type { Teardown } from '../support/teardown.ts';
import type { Cell, CellTarget } from './cells.ts';
import { hear } from './heard.ts';
import { judge, type Verdict } from './judge.ts';
import { behaviourOf, type Player } from './play.ts';
import type { Plan, WireName } from './scenario.ts';

/** Cells that are played at once. */
const atOnce = 24;
/** What takes longer is a hang, in milliseconds. */
const patienceMs = 20_000;

export interface Result {
  readonly cell: Cell;
  readonly verdict: Verdict;
}

/** Plays the cells; what it starts ends with `t`. */
export async function playCells(t: Teardown, cells: readonly Cell[]): Promise<Result[]> {
  const players = new Map<string, Player>();
  for (const { targets, scenario, form } of cells) {
    for (const [index, { model, wire, answer }] of targets.entries()) {
      const plan = scenario.plans[index] ?? 'answers';
      const first = targets[0]?.answer ?? answer;
      players.set(model, { wire, model, answer, plan, isStream: form === 'SSE', first });
    }
  }
  const upstream = await startFakeUpstream({ t, models: [] });
  const counts = new Map<string, number>();
  await upstream.behave((entry) => {
    const model = modelOf(entry);
    const player = players.get(model);
    if (player === undefined) return { kind: 'error', status: 404, message: `no cell has the model ${model}` };
    const number = counts.get(model) ?? 0;
    counts.set(model, number + 1);
    return behaviourOf(player, number, entry.body.toString());
  });
  const gateway = await startGateway(t, { config: await configOf(t, cells, upstream) });
  const results: Result[] = [];
  const waiting = cells.values();
  const work = async (): Promise<void> => {
    for (const cell of waiting) results.push({ cell, verdict: await playCell(gateway, cell, counts) });
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return cells.map((cell) => results.find((result) => result.cell === cell) as Result);
}

async function playCell(gateway: Gateway, cell: Cell, counts: ReadonlyMap<string, number>): Promise<Verdict> {
  const { door, form, alias, scenario, targets } = cell;
  const question = { door, isStream: form === 'SSE', model: alias, mark: `Question of ${alias}.` };
  if (scenario.isSecond === true) await hear(gateway, question, patienceMs);
  const slowdown = watchSlowdown();
  const heard = await hear(gateway, question, patienceMs);
  const calls = targets.map(({ model }) => counts.get(model) ?? 0);
  return judge(cell, { heard, calls, slowdown: slowdown() });
}

/** The model that a request is for: in its body, or in its path. */
function modelOf(entry: Entry): string {
  const { model } = (entry.json() ?? {}) as { readonly model?: unknown };
  if (typeof model === 'string') return model;
  return decodeURIComponent(/\/models?\/([^/:]+)/.exec(entry.path)?.[1] ?? '');
}

async function configOf(t: Teardown, cells: readonly Cell[], upstream: FakeUpstream): Promise<object> {
  const places = {
    port: `http://127.0.0.1:${await freePort()}`,
    tls: await startTls(t),
    dns: 'http://no-host.invalid',
  };
  const providers: Record<string, Record<string, unknown> & { readonly models: string[] }> = {};
  for (const { targets, scenario } of cells) {
    for (const [index, target] of targets.entries()) {
      const origin = originOf(scenario.plans[index] ?? 'answers', places) ?? new URL(upstream.url).origin;
      const timeouts = index === 0 ? { timeouts: scenario.timeouts } : {};
      providers[target.provider] ??= { ...settingsOf(target.wire, origin), ...timeouts, models: [] };
      providers[target.provider]?.models.push(target.model);
    }
  }
  const aliases = cells.map(({ alias, targets, scenario }) => ({
    source: alias,
    strategy: 'failover',
    targets: targets.map(({ provider, model }: CellTarget) => ({ model: `${provider}/${model}` })),
    ...scenario.alias,
    // Nearly every cell needs a second call.
    retry: { budget: 1, ...scenario.alias?.retry },
  }));
  return { providers, aliases };
}

function originOf(plan: Plan, places: Readonly<Record<'port' | 'tls' | 'dns', string>>): string | undefined {
  return typeof plan === 'object' && 'unreached' in plan ? places[plan.unreached] : undefined;
}

function settingsOf(wire: WireName, origin: string): object {
  const api_key = wire === 'bedrock' ? 'AKIAIOSFODNN7EXAMPLE:secret' : 'sk-rescue';
  if (wire === 'messages') return { type: 'anthropic', base_url: `${origin}/v1`, api_key };
  if (wire === 'gemini') return { type: 'gemini', base_url: `${origin}/v1beta`, dialects: ['gemini'], api_key };
  if (wire === 'bedrock') return { type: 'bedrock', base_url: origin, api_key };
  return { type: 'openai', base_url: `${origin}/v1`, dialects: [wire], api_key };
}

/** A server whose certificate no authority has signed. Gives its origin. */
async function startTls(t: Teardown): Promise<string> {
  const server = createServer(certificate(2000, 2100), (socket) => void socket.on('error', () => {}));
  server.on('tlsClientError', () => {});
  t.teardown(() => server.close());
  return `https://127.0.0.1:${await listen(server)}`;
}
