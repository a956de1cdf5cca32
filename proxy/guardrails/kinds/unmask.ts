// Puts back into an answer what was masked in its request.
import type { TextForm } from '../../dialects/texts.ts';
import { PatternFinder } from '../find/patterns.ts';
import type { CheckContext, Released } from '../guardrail.ts';
import { longestPlaceholder, placeholderForm } from '../masks.ts';
import { scannerOf } from './found-checks.ts';

const finder = new PatternFinder([placeholderForm], longestPlaceholder, '');

/** It never waits. */
export interface Unmasking {
  push(text: string): Released;
  end(): Released;
}

/** Gives the value of each placeholder of this request. Thoughts of a model may be signed, so there placeholders stay. */
export function unmasking(form: TextForm, { masks }: CheckContext): Unmasking | undefined {
  if (masks.size === 0 || form === 'reasoning') return undefined;
  const scanner = scannerOf(form, finder, (_, placeholder) => masks.valueOf(placeholder) ?? placeholder);
  return {
    push: (text) => ({ text: scanner.push(text) }),
    end: () => ({ text: scanner.end() }),
  };
}
