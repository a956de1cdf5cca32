// One line of the access log. It is put together by hand: JSON.stringify of its members was measured, and takes 2.4 µs of each request more,
// which are 4 %. Whatever a stranger can put in is bounded and escaped; bodies, headers and keys are not among what is taken.

import type { TokenOfKey } from '../../domain/keys/token-of-key.ts';
import { timestamp } from '../../domain/timestamp.ts';
import type { Identity } from '../../plane/identity.ts';
import { withoutKeys, withoutSecrets } from '../../schemas/formats/key-shapes.ts';
import type { Refusal } from '../errors.ts';
import { type LoggedCaller, shownPathOf } from '../http/exchange.ts';
import type { TokenUsage } from '../tokens/token-usage.ts';
import { droppedOf } from '../translation/losses.ts';
import { knownSecrets } from './known-secrets.ts';
import { flat, quoted, tenths } from './line-text.ts';
import type { LoggedAttempt, LoggedTarget, LoggedTrip } from './logged-trip.ts';
import { shownNames } from './shown-names.ts';

/** The most attempts of one line; the rest is left out. */
const mostAttempts = 16;
/** The most members of a request that were left out; the rest is left out. */
const mostDropped = 32;

/** How it ended. Moments in milliseconds: of the gateway's clock, and Unix. */
export interface Finish {
  readonly status: number;
  readonly usage: TokenUsage | undefined;
  readonly nowMs: number;
  readonly wallMs: number;
}

/** A request that is none of a model. */
export interface OtherRequest {
  readonly exchange: LoggedTrip['exchange'];
  readonly method: string;
  readonly path: string;
  readonly revision: string;
  readonly status: number;
  /** Undefined: it was answered, if only with an error of the control plane. */
  readonly refused: Refusal | undefined;
}

/** A request that could not be read: it has neither a method nor a path. */
export interface UnreadRequest {
  readonly id: string;
  readonly clientAddress: string;
  readonly revision: string;
  readonly refused: Refusal;
}

const thousandths = Array.from({ length: 1000 }, (_, index) => String(index).padStart(3, '0'));

/** The members that stay the same while a caller asks the same endpoint on one connection. */
interface CallerMembers {
  readonly address: string;
  readonly method: string;
  readonly path: string;
  readonly text: string;
}

interface TargetMembers {
  readonly resolved: string;
  /** The beginning of an attempt. */
  readonly asked: string;
  /** From `resolved` to the milliseconds of the only attempt, which went well. */
  readonly answered: string;
}

/** Makes the lines of one process, each with its line break. What stays the same for many requests is put together once. */
export class AccessLines {
  readonly #identity: string;
  /** All before the request's id, of this second and of this millisecond. */
  #second = -1;
  #secondText = '';
  #millisecond = -1;
  #millisecondText = '';
  #revision: string | undefined;
  #revisionText = '';
  readonly #callers = new WeakMap<object, CallerMembers>();
  readonly #targets = new WeakMap<object, TargetMembers>();

  constructor({ service, plane, instance, version }: Identity) {
    const members = JSON.stringify({ service, plane, instance, version, msg: 'request' });
    this.#identity = `Z",${members.slice(1, -1)},"request_id":`;
  }

  /** The line of a model request. */
  ofTrip(trip: LoggedTrip, { status, usage, nowMs, wallMs }: Finish): string {
    const { exchange, call, accepted, failed, ending, snapshot } = trip;
    let line = `${this.#begin(wallMs)}${quoted(exchange.id)}${this.#caller(trip)}`;
    if (call !== undefined) {
      line += `,"requested_model":${quoted(modelOf(trip, call))}${call.stream ? ',"stream":true' : ',"stream":false'}`;
    }
    const isAnswered = status === 200 && accepted?.answer?.status === 200;
    if (isAnswered && failed.length === 0 && ending.refused === undefined) {
      const { target, startedAtMs, endedAtMs } = accepted;
      line += `${this.#target(target).answered}${tenths(endedAtMs - startedAtMs)}}]`;
    } else line += this.#outcome(trip, status);
    if (trip.rescued !== undefined) line += `,"rescued":"${trip.rescued}"`;
    if (trip.caching !== undefined) line += `,"cache":"${trip.caching.outcome}"`;
    if (usage !== undefined) {
      line += `,"prompt_tokens":${usage.inputTokens},"completion_tokens":${usage.outputTokens},"total_tokens":${
        usage.totalTokens
      },"tokens_source":"${usage.source}"`;
    }
    const dropped = droppedOf(trip.guarding, accepted?.reading);
    if (dropped.length > 0) {
      const names = shownNames(dropped.slice(0, mostDropped), knownSecrets(trip));
      line += `,"dropped":[${names.map(quoted).join(',')}]`;
    }
    // Of an answer that a client did not wait for, nothing may have come.
    if (accepted?.answer?.status) line += `,"first_byte_ms":${tenths(accepted.endedAtMs - exchange.startedAtMs)}`;
    return `${line},"duration_ms":${tenths(nowMs - exchange.startedAtMs)}${this.#end(snapshot.revision)}`;
  }

  /** The line of a request that is none of a model. */
  ofOther({ exchange, method, path, revision, status, refused }: OtherRequest, nowMs: number, wallMs: number): string {
    const { id, clientAddress, caller, startedAtMs } = exchange;
    const who = `${quoted(id)},"client_address":${quoted(clientAddress)}${callerMembers(caller)}`;
    const shown = withoutSecrets(path, knownSecrets({ exchange }));
    const asked = `,"method":${quoted(method)},"endpoint":${quoted(shown)},"status":${status}`;
    const error = refused === undefined ? '' : refusalMembers(refused);
    return `${this.#begin(wallMs)}${who}${asked}${error},"duration_ms":${tenths(nowMs - startedAtMs)}${this.#end(revision)}`;
  }

  /** The line of a request that could not be read. */
  ofUnread({ id, clientAddress, refused, revision }: UnreadRequest, wallMs: number): string {
    const who = `${quoted(id)},"client_address":${quoted(clientAddress)}`;
    return `${this.#begin(wallMs)}${who},"status":${refused.status}${refusalMembers(refused)}${this.#end(revision)}`;
  }

  /** All before the request's id. */
  #begin(wallMs: number): string {
    const millisecond = Math.floor(wallMs);
    if (millisecond === this.#millisecond) return this.#millisecondText;
    const second = Math.floor(millisecond / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#secondText = `{"level":"info","time":"${timestamp(second * 1000).slice(0, -4)}`;
    }
    this.#millisecond = millisecond;
    this.#millisecondText = `${this.#secondText}${thousandths[millisecond - second * 1000]}${this.#identity}`;
    return this.#millisecondText;
  }

  /** The member for the revision of the configuration, and the end of the line. */
  #end(revision: string): string {
    if (revision === this.#revision) return this.#revisionText;
    this.#revision = revision;
    this.#revisionText = flat(`,"config_revision":${quoted(revision)}}\n`);
    return this.#revisionText;
  }

  #caller(trip: LoggedTrip): string {
    const { exchange, principal, path: endpoint, asked = { method: 'POST', path: endpoint } } = trip;
    const { method, path } = asked;
    const { clientAddress: address } = exchange;
    const known = principal === undefined ? undefined : this.#callers.get(principal);
    if (known !== undefined && known.address === address && known.path === path && known.method === method)
      return known.text;
    const who = `,"client_address":${quoted(address)}${callerMembers(principal ?? exchange.caller)}`;
    const shown = withoutSecrets(path, knownSecrets(trip));
    const text = flat(`${who},"method":${quoted(method)},"endpoint":${quoted(shown)}`);
    if (principal !== undefined) this.#callers.set(principal, { address, method, path, text });
    return text;
  }

  /** How it ended, and the attempts. */
  #outcome(trip: LoggedTrip, status: number): string {
    const { refused } = trip.ending;
    const target = resolvedOf(trip);
    const resolved = target === undefined ? '' : this.#target(target).resolved;
    const error = refused === undefined ? '' : refusalMembers(refused);
    return `${resolved},"status":${status}${error},"attempts":[${this.#attempts(trip)}]`;
  }

  /** The attempts in their order; of too many, the last ones. */
  #attempts({ failed, accepted, ending }: LoggedTrip): string {
    // An accepted answer is broken off by an error of its provider, or of the gateway.
    const broken = ending.refused?.provider === undefined ? undefined : ending.refused;
    const last = accepted === undefined ? '' : this.#attempt(accepted, broken);
    if (failed.length === 0) return last;
    const most = accepted === undefined ? mostAttempts : mostAttempts - 1;
    const said = failed.slice(-most).map((attempt) => this.#attempt(attempt, attempt.refused));
    return (last === '' ? said : [...said, last]).join();
  }

  /** `ms`: until its answer could be relayed, or it had failed. */
  #attempt({ target, startedAtMs, endedAtMs, answer }: LoggedAttempt, refused: Refusal | undefined): string {
    const status = answer === undefined || answer.status === 0 ? '' : `,"status":${answer.status}`;
    const error = refused === undefined || refused.code === null ? '}' : `,"error_code":${quoted(refused.code)}}`;
    return `${this.#target(target).asked}${status},"ms":${tenths(endedAtMs - startedAtMs)}${error}`;
  }

  #target(target: LoggedTarget): TargetMembers {
    const known = this.#targets.get(target);
    if (known !== undefined) return known;
    const { upstream } = target;
    const model = withoutKeys(target.model);
    const isKnown = model !== '';
    const resolved = isKnown ? `,"resolved_model":${quoted(`${upstream.name}/${model}`)}` : '';
    const asked = `{"provider":${quoted(upstream.name)}${isKnown ? `,"model":${quoted(model)}` : ''}`;
    const made = {
      resolved,
      asked,
      answered: flat(`${resolved},"status":200,"attempts":[${asked},"status":200,"ms":`),
    };
    this.#targets.set(target, made);
    return made;
  }
}

/** A name that leads nowhere may be anything, keys included. */
function modelOf(trip: LoggedTrip, { model }: { readonly model: string }): string {
  return trip.route === undefined ? withoutSecrets(model, knownSecrets(trip)) : model;
}

/** The line with the number of requests that it stands for besides its own. */
export function withFurther(line: string, further: number): string {
  return `${line.slice(0, line.lastIndexOf('}'))},"further":${further}}\n`;
}

function callerMembers(caller: LoggedCaller | undefined): string {
  if (caller === undefined) return '';
  const { keyId = caller.kind, reason } = caller;
  if (reason !== undefined && caller.token !== undefined) {
    const { identity, check } = caller.token;
    return `,"reason":"${reason}","identity":${quoted(identity)},"check":"${check}"`;
  }
  const userPath = shownPathOf(caller);
  const key = keyId === undefined ? '' : `,"key_id":${quoted(keyId)}`;
  const path = userPath === undefined ? '' : `,"user_path":${quoted(userPath)}`;
  if (reason !== undefined) return `${key}${path},"reason":"${reason}"`;
  return caller.tokenKey?.token === undefined ? key + path : key + path + rightsMember(caller.tokenKey.token);
}

const rightsMembers = new WeakMap<TokenOfKey['because'], string>();

/** The claims behind each right of a token; the same for all requests with it. */
function rightsMember({ because }: TokenOfKey): string {
  const known = rightsMembers.get(because);
  if (known !== undefined) return known;
  const claims = Object.entries(because).map(([right, cause]) => [right, cause.claims.join(', ')]);
  const made = `,"rights":${JSON.stringify(Object.fromEntries(claims))}`;
  rightsMembers.set(because, made);
  return made;
}

/** The target that answered, or the last that was asked, or the only one there was. */
function resolvedOf({ accepted, failed, route }: LoggedTrip): LoggedTarget | undefined {
  const asked = accepted ?? failed.at(-1);
  if (asked !== undefined) return asked.target;
  return route?.targets.length === 1 ? route.targets[0] : undefined;
}

function refusalMembers({ code, rule }: Refusal): string {
  const error = code === null ? '' : `,"error_code":${quoted(code)}`;
  if (rule === undefined) return error;
  return `${error},"rule":${quoted(rule.label)},"rule_id":${quoted(rule.id)},"rule_scope":"${rule.scope}"`;
}
