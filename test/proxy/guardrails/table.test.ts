// The table of guardrails, in JSON and in streams that are split at every position, in chat, responses and messages.

import { test } from 'tap';
import type { Failure } from '../../../proxy/answer.ts';
import type { EditableObject } from '../../../proxy/dialects/editing.ts';
import { Refusal } from '../../../proxy/errors.ts';
import { run } from '../../../proxy/guardrails/flow.ts';
import { Guarding } from '../../../proxy/guardrails/guarding.ts';
import type { Guardrail } from '../../../proxy/guardrails/guardrail.ts';
import { type GuardrailCase, guardrailCases } from './cases.ts';
import { openGuarded, railsOf, toldOf } from './rails.ts';
import { type Body, dialects, type SpokenDialect } from './spoken.ts';

const caller = { requestId: 'r', userPath: '/', model: 'm' };

/** What the work gives, or who refuses. Nothing waits for so little. */
function outcomeOf<Result>(guarding: Guarding, work: () => Result | Promise<Result>): Result | string {
  try {
    const result = work();
    if (result instanceof Promise) throw new Error('it waits');
    return result;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'guardrail_blocked') return `blocked ${guarding.blockedBy}`;
    throw error;
  }
}

/** The words that the provider hears, and the guardrails behind that. */
function ask(
  each: GuardrailCase,
  rails: readonly Guardrail[],
  dialect: SpokenDialect,
): { guarding: Guarding; heard: string } {
  const guarding = new Guarding(rails, caller, dialect.operation);
  const bytes = Buffer.from(JSON.stringify(dialect.request(each.asked ?? 'hello')));
  const heard = outcomeOf(guarding, () => run(guarding.onRequest(bytes)));
  if (typeof heard === 'string') return { guarding, heard };
  return { guarding, heard: dialect.wordsOfRequest(JSON.parse(heard.toString()) as Body) };
}

/** What a client is told of a JSON answer. */
function answer({ said = '', kind = 'words' }: GuardrailCase, guarding: Guarding, dialect: SpokenDialect): string {
  const body = JSON.parse(JSON.stringify(dialect.answer(said, kind))) as Body & EditableObject;
  const outcome = outcomeOf(guarding, () => run(toldOf(guarding, body)));
  return typeof outcome === 'string' ? outcome : dialect.wordsOfAnswer(body, kind);
}

/** What a client is told of a stream that comes in pieces; `cut`: chunks end where events do, or one byte before. */
function stream(pieces: readonly string[], each: GuardrailCase, guarding: Guarding, dialect: SpokenDialect): string {
  let bytes = '';
  let broken: Failure | undefined;
  const next = {
    write: (chunk: Buffer) => {
      bytes += chunk.toString();
      return true;
    },
    end: (failure: Failure | undefined) => {
      broken = failure;
    },
  };
  let cancelled: Failure | undefined;
  const cancel = (failure?: Failure): void => {
    cancelled = failure;
  };
  const guard = {
    answer: { cancel, resume: () => undefined },
    report: (error: unknown) => {
      throw error;
    },
  };
  const sink = openGuarded(guarding, guard, next);
  const events = dialect.events(pieces, each.kind ?? 'words').map((event) => `${event}\n\n`);
  for (const event of events) {
    if (cancelled !== undefined) break;
    sink.write(Buffer.from(event.slice(0, -1)));
    sink.write(Buffer.from(event.slice(-1)));
  }
  sink.end(cancelled);
  if (broken !== undefined) return broken.code === 'guardrail_blocked' ? `blocked ${broken.reason}` : broken.code;
  return heardOf(bytes, dialect);
}

function heardOf(bytes: string, dialect: SpokenDialect): string {
  const data = [...bytes.matchAll(/^data: (.*)$/gm)].map(([, text = '']) => text).filter((text) => text !== '[DONE]');
  const bodies = data.map((text): Body => JSON.parse(text));
  const numbers = bodies.flatMap(({ sequence_number: number }) => number ?? []);
  if (numbers.some((number, index) => number !== index)) return `numbered ${numbers.join()}`;
  const { told, repeated } = dialect.hear(bodies);
  const other = repeated.find((text) => text !== told);
  return other === undefined ? told : `told ${told}, repeated as ${other}`;
}

const splitsOf = (said: string): string[][] => [
  [said],
  ...Array.from({ length: said.length - 1 }, (_, at) => [said.slice(0, at + 1), said.slice(at + 1)]),
  said.split(''),
];

await test('the table has sixty cases', (t) => {
  t.ok(guardrailCases.length >= 60);
  t.equal(new Set(guardrailCases.map(({ name }) => name)).size, guardrailCases.length);
  t.end();
});

/** Compiled once: a guardrail with a schema takes 50 ms. */
const table = guardrailCases.map((each) => ({ each, rails: railsOf(each.guardrails) }));

for (const dialect of dialects) {
  await test(`${dialect.operation}: JSON, and streams split at every position`, (t) => {
    const wrong: object[] = [];
    for (const { each, rails } of table) {
      const { asked = 'hello', heard = asked, said, told = said, blocked } = each;
      const first = ask(each, rails, dialect);
      const isRefused = blocked !== undefined && said === undefined;
      const wantedHeard = isRefused ? `blocked ${blocked}` : heard;
      if (first.heard !== wantedHeard) wrong.push({ name: each.name, heard: first.heard, wantedHeard });
      if (said === undefined || isRefused) continue;
      const wanted = blocked === undefined ? told : `blocked ${blocked}`;
      const json = answer(each, first.guarding, dialect);
      if (json !== wanted) wrong.push({ name: each.name, json, wanted });
      for (const pieces of splitsOf(said)) {
        const streamed = stream(pieces, each, ask(each, rails, dialect).guarding, dialect);
        if (streamed !== wanted) wrong.push({ name: each.name, pieces, streamed, wanted });
      }
    }
    t.same(wrong.slice(0, 10), []);
    t.end();
  });
}
