// Suggests the correct form of a misspelled word, for the end of an error sentence.
import leven from 'leven';
import { quote } from './path.ts';

/** The closest candidate, letter case aside, when at most a third of the word differs, or two neighbours are swapped; otherwise undefined. */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > 200) return undefined;
  const folded = word.toLowerCase();
  let best: string | undefined;
  let least = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= least) continue;
    const distance = changesBetween(folded, candidate.toLowerCase());
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

/** Letters that were put in, left out or replaced; two swapped neighbours count as one. */
function changesBetween(word: string, candidate: string): number {
  let at = 0;
  while (at < word.length && word[at] === candidate[at]) at += 1;
  const swapped = word.slice(0, at) + word.charAt(at + 1) + word.charAt(at) + word.slice(at + 2);
  return swapped === candidate ? Math.min(1, leven(word, candidate)) : leven(word, candidate);
}

/** `; did you mean "models"?` or nothing. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const guess = closest(word, candidates);
  return guess === undefined ? '' : `; did you mean ${quote(guess)}?`;
}
