// Further members of a provider's error object, which are passed on as far as they fit.
import { redact, redactValue } from '../dialects/redact.ts';

/** Most that further members of an error may take in the answer, in characters of JSON. */
const maxFurther = 8_192;

/** Members that are the envelope's own, or that runtimes of clients may stumble over. */
const ownMembers = new Set(['code', 'message', 'param', 'type', 'provider', 'provider_type', '__proto__']);

/** The further members without the provider's secrets; members that no longer fit are left out. */
export function furtherMembers(
  given: Readonly<Record<string, unknown>>,
  secrets: readonly string[],
): Record<string, unknown> {
  const kept: [string, unknown][] = [];
  let room = maxFurther;
  for (const [name, value] of Object.entries(given)) {
    const [key, clean] = [redact(name, secrets), redactValue(value, secrets)];
    const size = JSON.stringify([key, clean]).length;
    if (ownMembers.has(key) || size > room) continue;
    room -= size;
    kept.push([key, clean]);
  }
  return Object.fromEntries(kept);
}
