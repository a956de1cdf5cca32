// One line of the access log: JSON, written by hand, because JSON.stringify of all of it takes 3 µs of each request. Whatever a stranger can
// put in is bounded and escaped; bodies, headers and keys are not among what is taken.
import type { Identity } from '../plane/identity.ts';
import { timestamp } from '../schemas/timestamp.ts';
import type { Exchange, LoggedCaller } from './connection/exchange.ts';
import type { Refusal } from './errors.ts';
import type { TokenUsage } from './tokens/token-usage.ts';

/** The most characters of one value, and the most attempts; the rest is left out. */
const longestValue = 256;
const mostAttempts = 16;

interface LoggedTarget {
  readonly upstream: { readonly name: string };
  readonly model: string;
}

/** A target that was asked. Moments in milliseconds of the gateway's clock. */
interface LoggedAttempt {
  readonly target: LoggedTarget;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly refused: Refusal | undefined;
  /** Status 0: nothing of it came. */
  readonly answer: { readonly status: number } | undefined;
}

/** What the line says of a model request: the part of `Trip` (stages/settle.ts) that it needs. */
export interface LoggedTrip {
  readonly path: string;
  readonly exchange: Pick<Exchange, 'id' | 'startedAtMs' | 'clientAddress' | 'caller'>;
  readonly snapshot: { readonly revision: string };
  readonly principal: Extract<LoggedCaller, { readonly kind: string }> | undefined;
  readonly call: { readonly model: string; readonly stream: boolean } | undefined;
  readonly route: { readonly targets: readonly LoggedTarget[] } | undefined;
  readonly failed: readonly LoggedAttempt[];
  readonly accepted: LoggedAttempt | undefined;
  readonly ending: { readonly refused: Refusal | undefined };
}

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

/** How many texts are kept as JSON, because they come again: addresses, endpoints, revisions. */
const mostKept = 1024;
const thousandths = Array.from({ length: 1000 }, (_, index) => String(index).padStart(3, '0'));

/** Makes the lines of one process, each with its line break. */
export class AccessLines {
  readonly #identity: string;
  /** The time of a second is rendered once. */
  #second = -1;
  #begun = '';
  /** Texts as JSON. */
  readonly #kept = new Map<string, string>();
  /** The members about a caller and about a target, which stay the same for many requests. */
  readonly #callers = new WeakMap<object, string>();
  readonly #targets = new WeakMap<object, { readonly resolved: string; readonly asked: string }>();

  constructor({ service, plane, instance, version }: Identity) {
    const members = JSON.stringify({ service, plane, instance, version, msg: 'request' });
    this.#identity = `Z",${members.slice(1, -1)},"request_id":`;
  }

  /** The line of a model request. */
  ofTrip(trip: LoggedTrip, { status, usage, nowMs, wallMs }: Finish): string {
    const { exchange, principal, call, accepted, ending, snapshot } = trip;
    const begin = this.#begin(exchange, wallMs);
    let line = begin + this.#caller(principal ?? exchange.caller);
    line += `,"method":"POST","endpoint":${this.#text(trip.path)}`;
    if (call !== undefined) {
      line += `,"requested_model":${quoted(call.model)}${call.stream ? ',"stream":true' : ',"stream":false'}`;
    }
    const target = resolvedOf(trip);
    if (target !== undefined) line += this.#target(target).resolved;
    line += `,"status":${status}`;
    if (ending.refused !== undefined) line += refusalMembers(ending.refused);
    line += `,"attempts":[${this.#attempts(trip)}]`;
    if (usage !== undefined) {
      line += `,"prompt_tokens":${usage.inputTokens},"completion_tokens":${usage.outputTokens},"total_tokens":${
        usage.totalTokens
      }${usage.source === 'reported' ? ',"tokens_source":"reported"' : ',"tokens_source":"estimated"'}`;
    }
    // Of an answer that a client did not wait for, nothing may have come.
    if (accepted?.answer?.status) line += `,"first_byte_ms":${tenths(accepted.endedAtMs - exchange.startedAtMs)}`;
    return line + this.#end(nowMs - exchange.startedAtMs, snapshot.revision);
  }

  /** The line of a request that is none of a model. */
  ofOther({ exchange, method, path, revision, status, refused }: OtherRequest, nowMs: number, wallMs: number): string {
    const begin = this.#begin(exchange, wallMs) + this.#caller(exchange.caller);
    const asked = `,"method":${quoted(method)},"endpoint":${quoted(path)},"status":${status}`;
    const error = refused === undefined ? '' : refusalMembers(refused);
    return begin + asked + error + this.#end(nowMs - exchange.startedAtMs, revision);
  }

  /** The line of a request that could not be read; `further`: how many more there were, that have no line of their own. */
  ofUnread({ id, clientAddress, refused, revision }: UnreadRequest, further: number, wallMs: number): string {
    const begin = this.#begin({ id, clientAddress }, wallMs);
    const more = further === 0 ? '' : `,"further":${further}`;
    return `${begin},"status":${refused.status}${refusalMembers(refused)}${more},"config_revision":${this.#text(revision)}}\n`;
  }

  #begin({ id, clientAddress }: Pick<LoggedTrip['exchange'], 'id' | 'clientAddress'>, wallMs: number): string {
    const second = Math.floor(wallMs / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#begun = `{"level":"info","time":"${timestamp(second * 1000).slice(0, -4)}`;
    }
    const millisecond = thousandths[Math.floor(wallMs) - second * 1000];
    const address = this.#text(clientAddress);
    return `${this.#begun}${millisecond}${this.#identity}${quoted(id)},"client_address":${address}`;
  }

  /** Milliseconds of the whole request; and what configuration it saw. */
  #end(ms: number, revision: string): string {
    return `,"duration_ms":${tenths(ms)},"config_revision":${this.#text(revision)}}\n`;
  }

  /** The attempts in their order; of too many, the last ones. */
  #attempts({ failed, accepted, ending }: LoggedTrip): string {
    // What broke an accepted answer off is an error of its provider, or the gateway's own.
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

  #caller(caller: LoggedCaller | undefined): string {
    if (caller === undefined) return '';
    const known = this.#callers.get(caller);
    if (known !== undefined) return known;
    const { keyId = caller.kind, userPath, reason } = caller;
    const key = keyId === undefined ? '' : `,"key_id":${quoted(keyId)}`;
    const path = userPath === undefined ? '' : `,"user_path":${quoted(userPath)}`;
    const made = reason === undefined ? key + path : `${key}${path},"reason":"${reason}"`;
    this.#callers.set(caller, made);
    return made;
  }

  #target(target: LoggedTarget): { readonly resolved: string; readonly asked: string } {
    const known = this.#targets.get(target);
    if (known !== undefined) return known;
    const { upstream, model } = target;
    const resolved = `,"resolved_model":${quoted(`${upstream.name}/${model}`)}`;
    const made = { resolved, asked: `{"provider":${quoted(upstream.name)},"model":${quoted(model)}` };
    this.#targets.set(target, made);
    return made;
  }

  /** As `quoted`, of a text that comes again. */
  #text(text: string): string {
    const known = this.#kept.get(text);
    if (known !== undefined) return known;
    const made = quoted(text);
    if (text.length > longestValue) return made;
    // There may be many addresses: they are kept only for a while.
    if (this.#kept.size >= mostKept) this.#kept.clear();
    this.#kept.set(text, made);
    return made;
  }
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

/** A number with one decimal. Integers are turned into text faster than fractions. */
function tenths(ms: number): string {
  const count = Math.max(0, Math.round(ms * 10));
  return `${Math.floor(count / 10)}.${count % 10}`;
}

/** The text as JSON, bounded. Nearly all texts are plain ASCII, which needs no escape. */
function quoted(text: string): string {
  const isLong = text.length > longestValue;
  for (let index = 0; index < text.length && index < longestValue; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code > 0x7e || code === 0x22 || code === 0x5c) return escaped(text);
  }
  return isLong ? `"${text.slice(0, longestValue)}…"` : `"${text}"`;
}

function escaped(text: string): string {
  const short = text.length > longestValue ? `${text.slice(0, longestValue)}…` : text;
  // Control, format and separator characters could forge lines or hide text where the line is shown.
  return JSON.stringify(short).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (found) =>
    Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`).join(
      '',
    ),
  );
}
