// Names of tools and ids of calls as a target takes them, and the client's own in its answers.

import type { ConversationAnswer, ConversationRequest, Tool, Turn } from '../dialects/conversation/conversation.ts';
import type { Part } from '../dialects/conversation/parts.ts';
import type { OpenedPart, StreamEvent } from '../dialects/conversation/stream-event.ts';
import type { CallForms } from '../dialects/tools/call-forms.ts';
import type { EventReader } from '../dialects/translation.ts';
import type { Slices } from '../pacing/slices.ts';
import { Fitted } from './fitted-texts.ts';

/** A request for one target. */
export interface FitRequest {
  readonly request: ConversationRequest;
  /** The client's names of tools by those that the target is told; empty: all are the client's. */
  readonly ownNames: ReadonlyMap<string, string>;
}

/** Parts that are looked at before other requests have their turn. */
const partsAtOnce = 1_000;
const none: ReadonlyMap<string, string> = new Map();

/**
 * Fits tool names and call ids to the forms that a server accepts; the same request when all fit. Different texts stay
 * different, and one text is changed alike in every request.
 */
export function* fitCalls(request: ConversationRequest, forms: CallForms): Slices<FitRequest> {
  if (!mayCall(request)) return { request, ownNames: none };
  const names = new Fitted(forms.name);
  const ids = new Fitted(forms.id);
  const uses = new CallUses();
  /** Of the calls and results in their order. */
  const keys: string[] = [];
  for (const tool of request.tools) if (tool.kind !== 'foreign') names.add(tool.name);
  let seen = 0;
  for (const { parts } of request.turns) {
    for (const part of parts) {
      seen += 1;
      if (seen % partsAtOnce === 0) yield;
      if (part.kind === 'tool_call') {
        names.add(part.name);
        const key = uses.call(part.id);
        keys.push(key);
        ids.add(key, key !== part.id);
      } else if (part.kind === 'tool_result') {
        const key = uses.result(part.callId);
        keys.push(key);
        ids.add(key, key !== part.callId);
      }
    }
  }
  const { toolChoice } = request;
  if (toolChoice?.kind === 'tool') names.add(toolChoice.name);
  const ownNames = names.own();
  if (ownNames.size === 0 && !ids.hasChanged) return { request, ownNames };
  const each = keys.values();
  const idOf = (id: string): string => ids.of(each.next().value ?? id);
  const fit: ConversationRequest = {
    ...request,
    tools: request.tools.map((tool): Tool => (tool.kind === 'foreign' ? tool : { ...tool, name: names.of(tool.name) })),
    turns: request.turns.map(
      (turn): Turn => ({ ...turn, parts: turn.parts.map((part) => fitPart(part, names, idOf)) }),
    ),
    ...(toolChoice?.kind === 'tool' ? { toolChoice: { ...toolChoice, name: names.of(toolChoice.name) } } : {}),
  };
  return { request: fit, ownNames };
}

function mayCall({ tools, toolChoice, turns }: ConversationRequest): boolean {
  return tools.length > 0 || toolChoice !== undefined || turns.some(({ parts }) => parts.some(isCallOrResult));
}

function isCallOrResult({ kind }: Part): boolean {
  return kind === 'tool_call' || kind === 'tool_result';
}

function fitPart(part: Part, names: Fitted, idOf: (id: string) => string): Part {
  if (part.kind === 'tool_call') return { ...part, id: idOf(part.id), name: names.of(part.name) };
  if (part.kind !== 'tool_result') return part;
  const name = part.name === undefined ? {} : { name: names.of(part.name) };
  return { ...part, callId: idOf(part.callId), ...name };
}

/** Some servers count ids anew in each answer, so one id is that of several calls. A result is that of the first of them that has none. */
class CallUses {
  readonly #uses = new Map<string, { calls: number; results: number }>();

  /** The id of the first such call; for a later one a text that tells it apart. */
  call(id: string): string {
    const uses = this.#uses.get(id) ?? { calls: 0, results: 0 };
    this.#uses.set(id, uses);
    uses.calls += 1;
    return keyOf(id, uses.calls);
  }

  result(id: string): string {
    const uses = this.#uses.get(id);
    if (uses === undefined) return id;
    uses.results = Math.min(uses.results + 1, uses.calls);
    return keyOf(id, uses.results);
  }
}

function keyOf(id: string, use: number): string {
  return use === 1 ? id : `${id} ${use}`;
}

/** Restores the calls of an answer: the client's names, and a new id where the server gives none or repeats one. */
export class OwnCalls {
  readonly #request: ConversationRequest;
  readonly #ownNames: ReadonlyMap<string, string>;
  readonly #newId: () => string;

  /** `request`: as the client sent it. `newId`: as an `AnswerContext` has it. */
  constructor(request: ConversationRequest, ownNames: ReadonlyMap<string, string>, newId: () => string) {
    this.#request = request;
    this.#ownNames = ownNames;
    this.#newId = newId;
  }

  /** An answer as a whole. */
  answer(answer: ConversationAnswer): ConversationAnswer {
    if (!answer.parts.some(({ kind }) => kind === 'tool_call')) return answer;
    const own = this.#calls();
    return { ...answer, parts: answer.parts.map((part) => (part.kind === 'tool_call' ? own(part) : part)) };
  }

  /** The reader of one stream, whose calls are told so. */
  reader(reader: EventReader): EventReader {
    let own: OwnCall | undefined;
    const told = (events: readonly StreamEvent[]): readonly StreamEvent[] => {
      if (!events.some(isCallOpened)) return events;
      const call = own ?? this.#calls();
      own = call;
      return events.map((event) => ownEvent(event, call));
    };
    return { read: (raw) => told(reader.read(raw)), end: () => told(reader.end()) };
  }

  /** Clients tell calls of all turns apart by their ids; some servers count them anew in each answer. */
  #calls(): OwnCall {
    const used = new Set(this.#request.turns.flatMap(({ parts }) => parts.flatMap(idOfCall)));
    return (call) => {
      const isNew = call.id !== '' && !used.has(call.id);
      const id = isNew ? call.id : `call_${this.#newId()}`;
      used.add(id);
      return { ...call, id, name: this.#ownNames.get(call.name) ?? call.name };
    };
  }
}

type OwnCall = <Call extends { readonly id: string; readonly name: string }>(call: Call) => Call;

function ownEvent(event: StreamEvent, own: OwnCall): StreamEvent {
  if (event.kind !== 'opened') return event;
  const { part } = event;
  if (part.kind === 'tool_call') return { ...event, part: own(part) };
  if (part.kind !== 'whole' || part.part.kind !== 'tool_call') return event;
  return { ...event, part: { kind: 'whole', part: own(part.part) } };
}

function idOfCall(part: Part): readonly string[] {
  return part.kind === 'tool_call' ? [part.id] : [];
}

function isCallOpened(event: StreamEvent): boolean {
  return event.kind === 'opened' && isCall(event.part);
}

function isCall(part: OpenedPart): boolean {
  return part.kind === 'tool_call' || (part.kind === 'whole' && part.part.kind === 'tool_call');
}
