// Makes the bytes of a provider's act.
import { type Behaviour, fin, rst, type Step, silence } from '../support/fake-upstream.ts';
import { sse } from '../support/scripted-model/wire.ts';
import type { Act, Plan, WireName } from './scenario.ts';
import {
  type Answer,
  errorBody,
  errorEvent,
  eventsOf,
  eventsUntil,
  streamType,
  wholeAnswer,
  withoutFinish,
} from './wires.ts';

/** A provider as one cell has it. */
export interface Player {
  readonly wire: WireName;
  readonly model: string;
  readonly answer: Answer;
  readonly plan: Plan;
  readonly isStream: boolean;
  /** What the first provider would answer. */
  readonly first: Answer;
}

/** Characters. */
const leastSaid = 20;

type Headers = Readonly<Record<string, string>>;

/** What it does with its request of this number, from 0. */
export function behaviourOf(player: Player, number: number, request: string): Behaviour {
  const { plan } = player;
  const acts = Array.isArray(plan) ? (plan as readonly Act[]) : [plan as Act];
  const act = acts[Math.min(number, acts.length - 1)] ?? 'answers';
  return act === 'goes on' ? play('answers', behind(player, request)) : play(act, player);
}

/** The provider with the rest of what the first one has said, if the request has the beginning of that. */
export function behind(player: Player, request: string): Player {
  const { text } = player.first;
  let said = text.length;
  while (said > 0 && !request.includes(text.slice(0, said))) said -= 1;
  // A part of its first words stands in any request.
  return said < leastSaid ? player : { ...player, answer: { ...player.answer, text: text.slice(said) } };
}

function play(act: Exclude<Act, 'goes on'>, player: Player): Behaviour {
  const { wire, model, answer, isStream } = player;
  if (act === 'answers') return whole(player, {});
  if ('unreached' in act) throw new Error('a provider that is not reached was asked');
  if ('status' in act) {
    const { status, headers = {}, says = `The status is ${status}.` } = act;
    const body = typeof says === 'string' ? errorBody(wire, status, says) : says;
    return { kind: 'json', status, headers: Object.entries(headers), body };
  }
  if ('waitsMs' in act) return later(act, player);
  if ('headers' in act) return whole(player, act.headers);
  if ('body' in act) return raw([http(200, { 'content-type': act.type }, act.body)]);
  if ('own' in act) {
    const { own } = act;
    if (!isStream) return { kind: 'json', body: own.whole };
    const events = own.events.map((event) => named(wire, event));
    return streamed(wire, [...events, ...(wire === 'chat' ? ['data: [DONE]\n\n'] : [])]);
  }
  if ('without' in act) return streamed(wire, withoutFinish(wire, answer, model));
  if (!isStream) return broken(act, player);
  const events = eventsOf(wire, answer, model);
  const sent = events.slice(0, eventsUntil(act.until, wire, answer, events.length));
  if ('says' in act) return streamed(wire, [...sent, errorEvent(wire, act.says === 'error beside choices')]);
  if (act.until === 'nothing') return raw([afterAll, endingOf(act.ending)]);
  return streamed(wire, act.ending === 'ends' ? sent : [...sent, endingOf(act.ending)]);
}

/** A connection that closes sooner counts as one that had been closed before. */
const afterAll: Step = { pauseMs: 300 };

type Breaking = Extract<Act, { readonly until: unknown }>;

/** An answer that is no stream, and breaks. */
function broken(act: Breaking, { wire, model, answer }: Player): Behaviour {
  const ending = 'says' in act ? fin : endingOf(act.ending);
  if (act.until === 'nothing') return raw([afterAll, ending]);
  const body = JSON.stringify(wholeAnswer(wire, answer, model));
  const text = http(200, { 'content-type': 'application/json' }, body);
  return raw([text.slice(0, text.length - (act.until === 'head' ? body.length : body.length >> 1)), ending]);
}

function later({ waitsMs, at }: Extract<Act, { readonly waitsMs: number }>, player: Player): Behaviour {
  const { wire, model, answer, isStream } = player;
  if (at === 'nothing' || !isStream) return { kind: 'delay', ms: waitsMs, next: whole(player, {}) };
  const events = eventsOf(wire, answer, model);
  const first = eventsUntil(at, wire, answer, events.length);
  return streamed(wire, [...events.slice(0, first), waitsMs, ...events.slice(first)]);
}

function whole({ wire, model, answer, isStream }: Player, headers: Headers): Behaviour {
  if (isStream) return streamed(wire, eventsOf(wire, answer, model), headers);
  const body = JSON.stringify(wholeAnswer(wire, answer, model));
  return raw([http(200, { 'content-type': 'application/json', ...headers }, body)]);
}

/** In chunks, so that a break is a break and no end. */
function streamed(wire: WireName, events: Iterable<Step | number>, headers: Headers = {}): Behaviour {
  const fields = Object.entries({ 'content-type': streamType(wire), ...headers, 'transfer-encoding': 'chunked' });
  return raw(chunked(events, lineOf(200, fields)));
}

function* chunked(events: Iterable<Step | number>, head: string): Generator<Step> {
  yield head;
  for (const event of events) {
    if (typeof event === 'number') yield { pauseMs: event };
    else if (typeof event === 'string' || event instanceof Uint8Array) {
      const bytes = Buffer.from(event);
      yield Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
    } else yield event;
  }
  yield '0\r\n\r\n';
}

/** Where the wire names its events, so is this one. */
function named(wire: WireName, event: object): string {
  const type = 'type' in event && (wire === 'messages' || wire === 'responses') ? String(event.type) : undefined;
  return sse(event, type);
}

function endingOf(ending: 'silence' | 'closes' | 'resets' | 'ends'): Step {
  return ending === 'silence' ? silence : ending === 'resets' ? rst : fin;
}

const raw = (steps: Iterable<Step>): Behaviour => ({ kind: 'raw', steps });

function http(status: number, headers: Headers, body: string): string {
  const length = String(Buffer.byteLength(body));
  return `${lineOf(status, Object.entries({ ...headers, 'content-length': length }))}${body}`;
}

function lineOf(status: number, fields: readonly (readonly [string, string])[]): string {
  return `HTTP/1.1 ${status} Status\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}
