// Whatever moment a client leaves at, and however: its slots come back once, and windows count what was admitted.
import { t as suite, test } from 'tap';
import { chatCall, firstEvent, lastEvent } from '../support/chat-call.ts';
import { complaintsOf } from '../support/complaints.ts';
import { extent, isFull } from '../support/extent.ts';
import {
  type Behaviour,
  createGate,
  fin,
  rst,
  type Step,
  silence,
  startFakeUpstream,
} from '../support/fake-upstream.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { openRaw, type RawConnection } from '../support/raw-http.ts';
import { figuresOf, isFree, isSame, minus, none, type PerRule, slotsAndWindow } from '../support/rule-figures.ts';
import { waitFor } from '../support/wait-for.ts';

/** Clients that leave a moment later each time, over the first milliseconds of their request. */
const moments = extent(48, 10);
const lastMomentMs = 6;
/** Clients that leave while their large body is read, for each kind of target. */
const largeBodies = extent(3, 1);

const upstream = await startFakeUpstream({ t: suite });
const second = await startFakeUpstream({ t: suite });

const limits = slotsAndWindow();

function start(serverTimeouts: object, timeouts: object): Promise<Gateway> {
  // What one test makes them do must not turn the next one's request away.
  const trusted = { circuit_breaker: false, learn_limits: false };
  const provider = ({ url, models }: typeof upstream) => ({
    type: 'openai',
    base_url: url,
    models,
    timeouts,
    ...trusted,
  });
  return startGateway(suite, {
    config: {
      server: { timeouts: serverTimeouts },
      providers: { first: provider(upstream), second: provider(second) },
      aliases: [
        { source: 'pair', targets: [{ model: 'first/fake-small', weight: 100_000 }, { model: 'second/fake-small' }] },
      ],
      rate_limits: {
        user_paths: [{ path: '/team', limits }],
        providers: [
          { name: 'first', limits },
          { name: 'second', limits },
        ],
        // Of both providers, so a target that still held its slot would keep the next one from being asked.
        models: [{ model: 'fake-small', limits }],
      },
    },
  });
}

/** With more patience than the tests have: what it frees it frees because the client left. */
const patient = await start({}, {});
/** For clients that say nothing: its own timeouts must end them. */
const strict = await start(
  { headers: '200ms', body: '200ms', write_idle: '200ms' },
  { connect: '300ms', first_byte: '300ms', stream_idle: '300ms' },
);

function callOf(model: string, stream: boolean, more = '1'): string {
  const messages = JSON.stringify([{ role: 'user', content: 'hello' }]);
  const body = `{"model":"${model}","stream":${stream},"messages":${messages},"more":[${more}]}`;
  return chatCall(body, { 'X-Gateway-User-Path': '/team/app' });
}

const sseHead = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';
const jsonHead = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900000\r\n\r\n';

const kinds = {
  'a JSON answer': { model: 'first/fake-small', stream: false },
  'a stream': { model: 'first/fake-small', stream: true },
  'the second target of an alias': { model: 'pair', stream: true },
} as const;

interface AbortPoint {
  /** Bytes of the whole request that the client has sent when it leaves. */
  send?: (whole: string) => string;
  /** What the provider does that answers. */
  behave: (stream: boolean) => Behaviour;
  /** How far the exchange must be by then; the ledger is that of the provider that answers. */
  until: 'sent' | 'received' | 'admitted' | 'asked' | 'headed' | 'relayed' | 'done';
  /** Whether the rules have been asked; undefined: that is a race. */
  isAdmitted: boolean | undefined;
  /** When the client is silent and its connection stays, its answer must be long enough to block. */
  behaveToSilence?: Behaviour;
  /** The combinations that differ; default: all. */
  kinds?: readonly (keyof typeof kinds)[];
}

const abortPoints: Record<string, AbortPoint> = {
  'inside the headers': {
    send: (whole) => whole.slice(0, 60),
    behave: () => ({ kind: 'hang' }),
    until: 'sent',
    isAdmitted: false,
    kinds: ['a JSON answer'],
  },
  'inside the body': {
    send: (whole) => whole.slice(0, -5),
    behave: () => ({ kind: 'hang' }),
    until: 'received',
    isAdmitted: false,
    kinds: ['a JSON answer'],
  },
  'right after the body': { behave: () => ({ kind: 'hang' }), until: 'sent', isAdmitted: undefined },
  'while connecting': {
    behave: () => ({ kind: 'full-backlog' }),
    until: 'admitted',
    isAdmitted: true,
    kinds: ['a JSON answer', 'the second target of an alias'],
  },
  'awaiting the headers': { behave: () => ({ kind: 'hang' }), until: 'asked', isAdmitted: true },
  'after the headers': {
    behave: (stream) => ({ kind: 'raw', steps: [stream ? sseHead : jsonHead, silence] }),
    until: 'headed',
    isAdmitted: true,
  },
  'amid the answer': {
    behave: (stream) =>
      stream
        ? { kind: 'sse', chunks: [`${firstEvent}data: {"choices":[{"index":0,"del`, createGate()] }
        : { kind: 'raw', steps: [jsonHead, `{"pad":"${'p'.repeat(500_000)}`, silence] },
    until: 'relayed',
    isAdmitted: true,
    behaveToSilence: { kind: 'endless-body' },
  },
  'after [DONE]': {
    behave: () => ({ kind: 'sse', chunks: [firstEvent, lastEvent, createGate()] }),
    until: 'done',
    isAdmitted: true,
    kinds: ['a stream', 'the second target of an alias'],
  },
};

const endings = { FIN: [fin], RST: [rst], silence: [] } as const satisfies Record<string, Step[]>;

for (const [pointIndex, [pointName, point]] of Object.entries(abortPoints).entries()) {
  await test(`a client that leaves ${pointName}`, async (t) => {
    const kindNames = point.kinds ?? (Object.keys(kinds) as (keyof typeof kinds)[]);
    for (const [endingIndex, [endingName, ending]] of Object.entries(endings).entries()) {
      // In a short run each ending with one kind, another one at each point.
      const turn = (pointIndex + endingIndex) % kindNames.length;
      for (const kindName of isFull ? kindNames : kindNames.slice(turn, turn + 1)) {
        await leave(`${kindName}, ${endingName}`, kinds[kindName], ending);
      }
    }

    async function leave(
      name: string,
      { model, stream }: (typeof kinds)[keyof typeof kinds],
      ending: readonly Step[],
    ): Promise<void> {
      const isSilent = ending.length === 0;
      const gateway = isSilent ? strict : patient;
      const isFailover = model === 'pair';
      const answering = isFailover ? second : upstream;
      const behaviour = (isSilent ? point.behaveToSilence : undefined) ?? point.behave(stream);
      if (isFailover) await upstream.behave({ kind: 'error', status: 500 });
      await answering.behave(behaviour);
      const before = await figuresOf(gateway);
      t.same(before.held, none, `${name}: nothing is held before`);
      const asked = answering.ledger.length;

      const connection = await openRaw(gateway.port, { t });
      const whole = callOf(model, stream);
      await connection.send(point.send?.(whole) ?? whole);
      const holding: PerRule = { user: 1, first: isFailover ? 0 : 1, second: isFailover ? 1 : 0, model: 1 };
      await reach(connection, () => answering.ledger[asked]);
      if (point.isAdmitted === true) t.same((await figuresOf(gateway)).held, holding, `${name}: its slots are held`);
      if (point.until === 'received')
        t.same((await figuresOf(gateway)).held, { ...none, user: 1 }, `${name}: the consumer's slot alone is held`);
      if (isSilent) connection.pause();
      const leftAtMs = performance.now();
      await connection.send(...ending);

      await waitFor(`${name}: every slot to be free and no request open`, () => isFree(gateway), 5000);
      const freedMs = performance.now() - leftAtMs;
      t.ok(freedMs < 5000, `${name}: free after ${freedMs.toFixed(0)} ms`);

      const used = minus((await figuresOf(gateway)).used, before.used);
      const reached: PerRule = isFailover ? { user: 1, first: 1, second: 1, model: 2 } : holding;
      // A provider that was never reached gets its count back.
      const unreached: PerRule = isFailover
        ? { user: 1, first: 1, second: 0, model: 1 }
        : { user: 1, first: 0, second: 0, model: 0 };
      const admitted = point.until === 'admitted' ? unreached : reached;
      if (point.isAdmitted === undefined) {
        // It may have left before, between and after the targets.
        const paths = isFailover ? [none, { user: 1, first: 1, second: 0, model: 1 }, admitted] : [none, admitted];
        t.ok(
          paths.some((possible) => isSame(used, possible)),
          `${name}: counted as a whole or not: ${JSON.stringify(used)}`,
        );
        t.ok(answering.ledger.length - asked <= used[isFailover ? 'second' : 'first'], `${name}: no call uncounted`);
      } else {
        t.same(used, point.isAdmitted ? admitted : none, `${name}: windows count what was admitted`);
        const calls = point.isAdmitted && point.until !== 'admitted' ? 1 : 0;
        t.equal(answering.ledger.length - asked, calls, `${name}: asked as often as was counted`);
      }
      if (isSilent && point.isAdmitted === false) {
        connection.resume();
        const ended = await connection.waitFor((exchange) => exchange.closedByServer && exchange);
        t.match(ended.responses, [{ status: 408 }], `${name}: the rest was not waited for any longer`);
      }
      connection.close();

      await upstream.behave({ kind: 'openai' });
      await second.behave({ kind: 'openai' });
      await admitsOneAtATime(name, gateway, model, stream);

      async function reach(from: RawConnection, entry: () => { bodyComplete: boolean; bytesSent: number } | undefined) {
        if (point.until === 'received') {
          await waitFor('a request in flight', async () => (await gateway.metric('gateway_requests_in_flight')) === 1);
        }
        if (point.until === 'admitted') {
          await waitFor('the slots to be taken', async () => isSame((await figuresOf(gateway)).held, holding));
        }
        if (point.until === 'asked') await answering.waitFor(() => entry()?.bodyComplete);
        if (point.until === 'headed') await answering.waitFor(() => entry()?.bytesSent);
        if (point.until === 'relayed') await from.waitFor(({ responses }) => responses[0]?.body.length);
        if (point.until === 'done') await from.waitFor(({ responses }) => responses[0]?.text().includes('[DONE]'));
      }
    }

    /** Caps are 1: the next request gets in, one beside it does not, and afterwards nothing is held. */
    async function admitsOneAtATime(name: string, gateway: Gateway, model: string, stream: boolean): Promise<void> {
      const gate = createGate();
      const first = upstream.ledger.length;
      await upstream.behave({ kind: 'hold', gate });
      const next = await openRaw(gateway.port, { t });
      await next.send(callOf(model, stream));
      await upstream.waitFor((ledger) => ledger[first]?.bodyComplete, 5000);
      const beside = await openRaw(gateway.port, { t });
      await beside.send(callOf(model, stream));
      const refused = await beside.waitFor(({ responses }) => responses[0]?.complete && responses[0]);
      t.equal(refused.status, 429, `${name}: a second one at the same time is refused`);
      gate.release();
      const served = await next.waitFor(({ responses }) => responses[0]?.complete && responses[0]);
      t.equal(served.status, 200, `${name}: the next request is admitted`);
      await waitFor('its slots to come back', () => isFree(gateway), 5000);
      await upstream.behave({ kind: 'openai' });
      next.close();
      beside.close();
    }
  });
}

await test('a client that leaves a moment later each time', async (t) => {
  for (const [model, stream] of [
    ['first/fake-small', false],
    ['first/fake-small', true],
    ['pair', true],
  ] as const) {
    await upstream.behave(model === 'pair' ? { kind: 'error', status: 500 } : { kind: 'openai' });
    const before = (await figuresOf(patient)).used;
    const calls = upstream.ledger.length + second.ledger.length;
    let late = 0;
    for (let moment = 0; moment < moments; moment += 1) {
      const connection = await openRaw(patient.port, { t });
      // Not waited for: at the first moments the end may overtake the request.
      const sent = connection.send(callOf(model, stream));
      const leaveAtMs = performance.now() + (moment / moments) * lastMomentMs;
      while (performance.now() < leaveAtMs) await new Promise((next) => setImmediate(next));
      if (connection.exchange().responses[0]?.complete) late += 1;
      if (moment % 2 === 0) connection.reset();
      else connection.halfClose();
      await sent;
      await waitFor(`every slot to be free at moment ${moment}`, () => isFree(patient), 5000);
      connection.close();
    }
    const used = minus((await figuresOf(patient)).used, before);
    const asked = upstream.ledger.length + second.ledger.length - calls;
    t.comment(`${model}: ${late} of ${moments} left after the answer; counted ${JSON.stringify(used)}, ${asked} calls`);
    t.equal(used.model, used.first + used.second, 'each target is counted under its provider and its model');
    t.equal(used.user, used.first, 'a request that reached no provider is not counted, one that did is counted once');
    t.ok(used.second <= used.first && asked <= used.model, 'no call is uncounted');
    t.ok(used.user > 0, 'some of them got through');
  }
  await upstream.behave({ kind: 'openai' });
});

await test('a client that leaves while its large body is read', async (t) => {
  const before = (await figuresOf(patient)).used;
  const asked = upstream.ledger.length;
  for (const model of ['first/fake-small', 'pair']) {
    for (let time = 0; time < largeBodies; time += 1) {
      const connection = await openRaw(patient.port, { t });
      await connection.send(callOf(model, false, `${'[0],'.repeat(2_000_000)}[0]`), fin);
      await waitFor('the request to be counted', async () => {
        const ended = await patient.metric('gateway_requests_total', { status: '499' });
        return ended !== undefined && (await patient.metric('gateway_requests_in_flight')) === 0;
      });
      t.same((await figuresOf(patient)).held, none);
      connection.close();
    }
  }
  const used = minus((await figuresOf(patient)).used, before);
  const calls = upstream.ledger.length - asked;
  t.comment(`${2 * largeBodies} clients, ${calls} calls`);
  t.same(
    used,
    { user: calls, first: calls, second: 0, model: calls },
    'a request that reached no provider is not counted',
  );
  t.ok(calls < 2 * largeBodies, 'some left in time');
});

await test('nothing malformed was sent, nothing unexpected happened inside', async (t) => {
  t.same([...upstream.malformed, ...second.malformed], []);
  for (const { process } of [patient, strict]) {
    t.same(complaintsOf(process), []);
    t.ok(process.running);
  }
});
