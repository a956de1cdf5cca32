// Sends the requests of loads when they are due, whether answers come or not, and keeps when each was sent and answered.
import { setTimeout as pause } from 'node:timers/promises';
import { Pool, request } from '../support/undici.ts';
import type { Answer } from './oracle.ts';
import { dueTimes, type LoadPlan } from './scenarios.ts';

/** A gateway to ask; its address may be another one behind a restart. */
export interface Target {
  readonly url: string;
}

export interface LoadOptions {
  readonly targets: readonly Target[];
  readonly plans: readonly LoadPlan[];
  readonly seconds: number;
  readonly key: string;
  readonly model: string;
  /** The user path of a load; undefined: the key decides. */
  readonly userPathOf: (plan: LoadPlan) => string | undefined;
}

/** A target that refused a connection is left out for so long. Milliseconds. */
const leftOutMs = 200;
const mostConnections = 128;
const outcomes: Readonly<Record<number, Answer['outcome']>> = { 200: 'admitted', 429: 'refused', 503: 'unavailable' };

/** Runs all loads at once; their answers by the name of the load, once the last one is there. Each target has its turn. */
export async function runLoads(options: LoadOptions): Promise<ReadonlyMap<string, readonly Answer[]>> {
  const { plans, seconds } = options;
  const doors = options.targets.map((target) => new Door(target));
  const answers = new Map(plans.map(({ name }) => [name, [] as Answer[]]));
  const fromMs = nowMs() + 20;
  const due = plans
    .flatMap((plan) => dueTimes(plan, fromMs, fromMs + seconds * 1_000).map((atMs) => ({ atMs, plan })))
    .toSorted((one, other) => one.atMs - other.atMs);
  const underWay = new Set<Promise<void>>();
  const send = async (plan: LoadPlan, door: Door): Promise<void> => {
    const answer = await door.ask(options, options.userPathOf(plan));
    if (answer !== undefined) answers.get(plan.name)?.push(answer);
  };
  let turn = 0;
  for (const { atMs, plan } of due) {
    while (nowMs() < atMs) await pause(Math.max(1, Math.min(atMs - nowMs(), 1_000)));
    const open = doors.filter((door) => door.isOpen());
    const door = open[turn % open.length];
    turn += 1;
    if (door === undefined) continue;
    const sent = send(plan, door);
    underWay.add(sent);
    void sent.finally(() => underWay.delete(sent));
  }
  await Promise.all(underWay);
  await Promise.all(doors.map((door) => door.close()));
  return answers;
}

/** The connections to one target. */
class Door {
  readonly #target: Target;
  #pool: Pool | undefined;
  #url = '';
  #openMs = 0;

  constructor(target: Target) {
    this.#target = target;
  }

  isOpen(): boolean {
    return nowMs() >= this.#openMs;
  }

  /** Undefined: no connection could be made, so that the request never left. */
  async ask({ key, model }: LoadOptions, userPath: string | undefined): Promise<Answer | undefined> {
    const sentMs = nowMs();
    const ended = (outcome: Answer['outcome']): Answer => ({ sentMs, answeredMs: nowMs(), outcome });
    try {
      const { statusCode, body } = await request(this.#connections(), {
        method: 'POST',
        path: '/v1/chat/completions',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          ...(userPath === undefined ? {} : { 'x-gateway-user-path': userPath }),
        },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
        headersTimeout: 10_000,
        bodyTimeout: 10_000,
      });
      // The bytes of the head are the answer about the cap; a body that breaks off changes nothing about it.
      const answer = ended(outcomes[statusCode] ?? 'unclear');
      await body.dump();
      return answer;
    } catch (error) {
      this.#openMs = nowMs() + leftOutMs;
      return (error as { code?: string }).code === 'ECONNREFUSED' ? undefined : ended('unclear');
    }
  }

  async close(): Promise<void> {
    await this.#pool?.destroy();
  }

  #connections(): Pool {
    const { url } = this.#target;
    if (this.#pool !== undefined && url === this.#url) return this.#pool;
    void this.#pool?.destroy();
    this.#url = url;
    this.#pool = new Pool(url, { connections: mostConnections, pipelining: 1 });
    return this.#pool;
  }
}

/** Milliseconds since 1970, with fractions. Never steps. */
function nowMs(): number {
  return performance.timeOrigin + performance.now();
}
