// Reads the body of POST /admin/guardrails/test: schemas/admin/guardrail-test.schema.json.
import { normaliseUserPath } from '../../domain/user-path.ts';
import { type JsonObject, objectOf, textOf } from '../dialects/json/json.ts';
import { type Refusal, refusal } from '../errors.ts';
import { parsedObject } from '../http/parsed-body.ts';
import type { Slices } from '../pacing/slices.ts';
import type { Trial } from './try-guardrails.ts';

/** The trial, and whether it was given as text alone. */
export interface ReadTrial extends Trial {
  readonly isText: boolean;
}

const members = ['text', 'body', 'endpoint', 'phase', 'user_path', 'model'] as const;

const operations = {
  '/v1/chat/completions': 'chat',
  '/v1/completions': 'completions',
  '/v1/responses': 'responses',
  '/v1/messages': 'messages',
  '/v1/messages/count_tokens': 'count_tokens',
  '/v1/embeddings': 'embeddings',
  '/v1/audio/speech': 'speech',
  '/v1/images/generations': 'image_generations',
  '/v1/moderations': 'moderations',
  '/v1/rerank': 'rerank',
} as const;

const longestText = 200_000;
const longestName = 1_024;

/** Throws 400 `invalid_json` and `invalid_parameter` naming the member. */
export function* readTrial(bytes: Buffer): Slices<ReadTrial> {
  const given = yield* parsedObject(bytes);
  if (given === undefined)
    throw refusal('invalid_json', { fill: { reason: 'it is no JSON object, or has too many values' } });
  const unknown = Object.keys(given).find((name) => !members.some((each) => each === name));
  if (unknown !== undefined) throw invalid(unknown, `is unknown; known are ${members.join(', ')}`);
  const phase = oneOf(given, 'phase', ['input', 'output']) ?? 'input';
  const endpoint = oneOf(given, 'endpoint', Object.keys(operations) as (keyof typeof operations)[]);
  const { path: userPath, problem } = normaliseUserPath(textIn(given, 'user_path', longestName) ?? '/');
  if (userPath === undefined) throw invalid('user_path', problem);
  const text = textIn(given, 'text', longestText);
  const body = given['body'] === undefined ? undefined : objectOf(given['body']);
  if (given['body'] !== undefined && body === undefined) throw invalid('body', 'must be an object');
  if ((text === undefined) === (body === undefined)) throw invalid('text', 'or body must be given, and not both');
  if (text !== undefined && endpoint !== undefined) throw invalid('endpoint', 'goes with body alone');
  const model = textIn(given, 'model', longestName) ?? textOf(body?.['model']) ?? '';
  return {
    operation: operations[endpoint ?? '/v1/chat/completions'],
    phase,
    userPath,
    model,
    body: body ?? chatOf(text ?? '', phase),
    isText: text !== undefined,
  };
}

/** The words of `chatOf` as they are in a body. */
export function wordsOf(body: JsonObject, phase: Trial['phase']): string {
  const list = phase === 'input' ? body['messages'] : body['choices'];
  const entries = Array.isArray(list) ? (list as readonly JsonObject[]) : [];
  const said = phase === 'input' ? entries : entries.map((choice) => objectOf(choice['message']) ?? {});
  return said.map((message) => textOf(message['content']) ?? '').join('\n');
}

function chatOf(content: string, phase: Trial['phase']): JsonObject {
  return phase === 'input'
    ? { messages: [{ role: 'user', content }] }
    : { choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }] };
}

function oneOf<Name extends string>(given: JsonObject, member: string, names: readonly Name[]): Name | undefined {
  const value = given[member];
  if (value === undefined) return undefined;
  const found = names.find((name) => name === value);
  if (found === undefined) throw invalid(member, `must be one of ${names.join(', ')}`);
  return found;
}

function textIn(given: JsonObject, member: string, longest: number): string | undefined {
  const value = given[member];
  if (value === undefined) return undefined;
  const text = textOf(value);
  if (text === undefined) throw invalid(member, 'must be a text');
  if (text.length > longest) throw invalid(member, `is longer than ${longest} characters`);
  return text;
}

function invalid(param: string, because: string | undefined): Refusal {
  return refusal('invalid_parameter', { param, fill: { param, because: because ?? 'is not valid' } });
}
