// Whether a text may hold a key: nearly all do not, and to find that out takes a tenth of the time of looking for the shapes of keys.

/** One of these stands in every key. */
export const beginnings: readonly string[] =
  'sk- AKIA ASIA xox ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- AIza gsk_ hf_ xai- pplx- k_live_ k_test_ eyJ'.split(
    ' ',
  );
/** Nearly all of them have a character that is rare in texts: it is searched for, and what stands before it is looked at. */
const rareLetters = ['-', '_', 'J'];

/** A beginning up to the first rare letter that has two others before it. */
interface Mark {
  readonly beginning: string;
  readonly letter: string | undefined;
  readonly at: number;
}

const marks: readonly Mark[] = beginnings.map((beginning) => {
  const at = 2 + beginning.slice(2).search(/[-_J]/);
  return { beginning, letter: rareLetters.find((letter) => letter === beginning[at]), at };
});
/** Without such a letter: they begin with one that is rare enough. */
const others = marks.filter(({ letter }) => letter === undefined).map(({ beginning }) => beginning);
/** By their rare letter, and by the two before it. */
const byLetter = rareLetters.map((letter) => ({
  letter,
  byPair: Map.groupBy(
    marks.filter((mark) => mark.letter === letter),
    ({ beginning, at }) => pairBefore(beginning, at),
  ),
}));

/** False: the text holds no key of a known kind. */
export function mayHoldKey(text: string): boolean {
  for (const beginning of others) if (text.includes(beginning)) return true;
  for (const { letter, byPair } of byLetter) {
    for (let at = text.indexOf(letter); at !== -1; at = text.indexOf(letter, at + 1)) {
      const found = byPair.get(pairBefore(text, at));
      if (found?.some((mark) => isAt(text, at - mark.at, mark.beginning))) return true;
    }
  }
  return false;
}

/** A number for the two characters before this one. */
function pairBefore(text: string, at: number): number {
  return (text.charCodeAt(at - 2) << 16) | text.charCodeAt(at - 1);
}

function isAt(text: string, from: number, part: string): boolean {
  return from >= 0 && text.slice(from, from + part.length) === part;
}
