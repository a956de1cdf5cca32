// The abilities of a Gemini model, as far as its id shows them: generations differ in how thinking is requested.

import type { Signature } from './conversation/parts.ts';

/** `major` 3, `minor` 1: Gemini 3.1. */
export interface Generation {
  readonly major: number;
  readonly minor: number;
  readonly size: 'pro' | 'flash' | 'flash-lite';
}

const pattern = /gemini-(\d+)(?:\.(\d+))?-(pro|flash-lite|flash)?/;

/** The generation in a model's id (`models/gemini-2.5-flash-lite`); undefined when it tells none (`gemini-flash-latest`). */
export function generationOf(model: string): Generation | undefined {
  const [found, major, minor = '0', size = 'flash'] = pattern.exec(model) ?? [];
  if (found === undefined) return undefined;
  return { major: Number(major), minor: Number(minor), size: size as Generation['size'] };
}

/** Google documents it for calls that another model made: the proof of thoughts is not looked for. */
export const noProof: Signature = { family: 'google', value: 'skip_thought_signature_validator' };

/**
 * Whether a model is of the third generation: it refuses function calls without their thought signature, and accepts
 * images in results.
 */
export function isThirdGeneration(model: string): boolean {
  return (generationOf(model)?.major ?? 0) >= 3;
}
