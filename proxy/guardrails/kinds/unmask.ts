// Puts back into an answer what was masked in its request.
import type { TextForm } from '../../dialects/texts.ts';
import { WordFinder } from '../find/words.ts';
import type { CheckContext, StreamCheck } from '../guardrail.ts';
import { scannerOf } from './found-checks.ts';

/** Gives the value of each placeholder of this request. Thoughts of a model may be signed, so there placeholders stay. */
export function unmasking(form: TextForm, { masks }: CheckContext): StreamCheck | undefined {
  if (masks.size === 0 || form === 'reasoning') return undefined;
  const words = [...masks.placeholders()];
  const finder = new WordFinder({ words, areWhole: false, isCaseSensitive: true, reason: '' });
  const scanner = scannerOf(form, finder, (_, placeholder) => masks.valueOf(placeholder) ?? placeholder);
  return {
    push: (text) => ({ text: scanner.push(text) }),
    end: () => ({ text: scanner.end() }),
  };
}
