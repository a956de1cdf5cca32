// By what a chunk, or an answer, shows that its server broke off.
import { type JsonObject, listOf, objectOf, textOf } from '../json/json.ts';

/** Reasons of servers that broke off (OpenRouter, vLLM, DeepSeek). */
export const brokenReasons: readonly string[] = ['error', 'abort', 'insufficient_system_resource'];

/** Whether a body, or an event that is named so, tells of an error. */
export function isFailure(event: string | undefined, body: JsonObject | undefined): boolean {
  if (event === 'error') return true;
  if (body === undefined) return false;
  const { error } = body;
  return (error !== undefined && error !== null) || body['object'] === 'error';
}

/** The same, or of an answer that ends with an error in the place of a reason. `isNamed`: the event is named so. */
export function isBrokenOff(isNamed: boolean, body: JsonObject | undefined): boolean {
  if (isFailure(isNamed ? 'error' : undefined, body)) return true;
  const choices = listOf(body?.['choices']) ?? [];
  return choices.some((choice) => brokenReasons.includes(textOf(objectOf(choice)?.['finish_reason']) ?? ''));
}
