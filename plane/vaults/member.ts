// Takes one member out of a secret that is an object in JSON.
import { VaultTrouble } from './read-secret.ts';

/** Throws a `VaultTrouble` when there is none, or it is no text. */
export function member(secret: string, field: string): string {
  const object = objectIn(secret);
  if (object === undefined) throw new VaultTrouble('is no object, so it has no members');
  const value = Object.hasOwn(object, field) ? object[field] : undefined;
  if (value === undefined) throw new VaultTrouble('has no member of this name');
  if (typeof value !== 'string') throw new VaultTrouble('has a member of this name that is no text');
  return value;
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
