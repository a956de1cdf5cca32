// Reads the verdict in a model's answer, which should be JSON among other text. An unclear answer is no verdict.
import { isObject, type JsonObject, listOf, objectOf, parseObject, textOf } from '../dialects/json/json.ts';
import type { Verdict } from './guardrail.ts';
import { readReason } from './reason.ts';

/** Objects of one answer that are looked at. */
const mostObjects = 16;

/** The only verdict that an answer holds, however often; undefined: there is none, or several. */
export function readModelVerdict(answer: JsonObject): Verdict | undefined {
  const verdicts = objectsIn(wordsOf(answer)).flatMap((said) => ('verdict' in said ? [verdictOf(said)] : []));
  const [first] = verdicts;
  return verdicts.every((verdict) => verdict?.outcome === first?.outcome) ? first : undefined;
}

function verdictOf({ verdict, reason: said }: JsonObject): Verdict | undefined {
  const name = textOf(verdict)?.trim().toLowerCase();
  if (name === 'pass') return { outcome: 'pass' };
  if (name !== 'block' && name !== 'flag') return undefined;
  // A reason that is not a category may be a part of the text.
  return { outcome: name, reason: readReason(said) ?? 'judged' };
}

/** The texts of the last object that has exactly so many. */
export function readModelTexts(answer: JsonObject, count: number): readonly string[] | undefined {
  const lists = objectsIn(wordsOf(answer)).flatMap(({ texts }) => {
    const list = listOf(texts);
    return list?.length === count && list.every((text) => typeof text === 'string') ? [list as string[]] : [];
  });
  return lists.length === 1 ? lists[0] : undefined;
}

/** The text of a complete chat completion; empty for one that was cut, filtered, or calls a tool. */
function wordsOf(answer: JsonObject): string {
  const choice = objectOf(listOf(answer['choices'])?.[0]);
  const finish = choice?.['finish_reason'];
  if (finish !== 'stop' && finish !== undefined && finish !== null) return '';
  return textOf(objectOf(choice?.['message'])?.['content']) ?? '';
}

/** The outermost objects in a text, such as those in a code fence. Each brace is looked at once, so that no text takes long. */
function objectsIn(words: string): JsonObject[] {
  const whole = parseObject(words);
  if (whole !== undefined) return [whole];
  const found: JsonObject[] = [];
  let depth = 0;
  let start = 0;
  let isQuoted = false;
  for (let at = 0; at < words.length && found.length < mostObjects; at += 1) {
    const char = words[at];
    if (depth > 0 && isQuoted) {
      if (char === '\\') at += 1;
      else if (char === '"') isQuoted = false;
    } else if (char === '"') isQuoted = depth > 0;
    else if (char === '{') {
      if (depth === 0) start = at;
      depth += 1;
    } else if (char === '}' && depth > 0) {
      depth -= 1;
      const object = depth === 0 ? parseObject(words.slice(start, at + 1)) : undefined;
      if (isObject(object)) found.push(object);
    }
  }
  return found;
}
