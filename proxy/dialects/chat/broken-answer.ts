// By what a chunk, or an answer, shows that its server broke off.
import { type JsonObject, listOf, objectOf, textOf } from '../json/json.ts';

/** Reasons of servers that broke off (OpenRouter, vLLM, DeepSeek). */
export const brokenReasons: readonly string[] = ['error', 'abort', 'insufficient_system_resource'];

/** Whether a body is an error, or stands in an event named `error`. */
export function isFailure(event: string | undefined, body: JsonObject | undefined): boolean {
  if (event === 'error') return true;
  if (body === undefined) return false;
  const { error } = body;
  return (error !== undefined && error !== null) || body['object'] === 'error';
}

/**
 * Whether a body is an error, or an answer that ends with an error instead of a finish reason. `isNamed`: the event is
 * named `error`.
 */
export function isBrokenOff(isNamed: boolean, body: JsonObject | undefined): boolean {
  if (isFailure(isNamed ? 'error' : undefined, body)) return true;
  const choices = listOf(body?.['choices']) ?? [];
  return choices.some((choice) => brokenReasons.includes(textOf(objectOf(choice)?.['finish_reason']) ?? ''));
}
