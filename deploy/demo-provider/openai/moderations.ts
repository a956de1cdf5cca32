// Moderation: a text is flagged for the words of a category that stand in it.
import { digest } from '../answers.ts';
import { type Body, isList, isObject, Refusal, requireModel } from '../requests.ts';

export const moderationModel = 'demo-moderation';

/** The input of one result. */
type Input = { readonly text: string; readonly hasImage: boolean };

/** The categories of OpenAI, each with words that belong to it. */
const categories: Readonly<Record<string, RegExp>> = {
  harassment: /\b(idiot|loser|stupid)s?\b/i,
  'harassment/threatening': /\b(i will hurt|i will kill) you\b/i,
  hate: /\bi hate (all|those|these)\b/i,
  'hate/threatening': /\b(kill|destroy) (all|those|these)\b/i,
  illicit: /\b(shoplift|steal a car|launder money)\w*\b/i,
  'illicit/violent': /\bbuild a bomb\b/i,
  'self-harm': /\b(hurt|harm|kill) myself\b/i,
  'self-harm/intent': /\bi (want|am going) to (hurt|harm|kill) myself\b/i,
  'self-harm/instructions': /\bhow to (hurt|harm|kill) (myself|yourself)\b/i,
  sexual: /\b(porn|erotic)\w*\b/i,
  'sexual/minors': /\bchild porn\w*\b/i,
  violence: /\b(kill|murder|stab|shoot)(s|ed|ing)?\b/i,
  'violence/graphic': /\b(gore|dismember\w*)\b/i,
};
/** Those that are looked for in images too. */
const ofImages = new Set(Object.keys(categories).filter((name) => /^(self-harm|sexual$|violence)/.test(name)));
const mostInputs = 2048;

/** The answer to a request for moderation. */
export function moderate(body: Body): object {
  const model = requireModel(body['model'] ?? moderationModel, [moderationModel]);
  const results = readInputs(body['input']).map(judge);
  return { id: `modr-${digest(JSON.stringify(body)).slice(0, 32)}`, model, results };
}

function judge({ text, hasImage }: Input): object {
  const names = Object.keys(categories);
  const found = new Set(names.filter((name) => categories[name]?.test(text)));
  const each = (value: (name: string) => unknown): object =>
    Object.fromEntries(names.map((name) => [name, value(name)]));
  return {
    flagged: found.size > 0,
    categories: each((name) => found.has(name)),
    category_scores: each((name) => scoreOf(name, text, found.has(name))),
    category_applied_input_types: each((name) => (hasImage && ofImages.has(name) ? ['text', 'image'] : ['text'])),
  };
}

/** Above 0.9 or below 0.01, and always the same for the same text. */
function scoreOf(name: string, text: string, isFound: boolean): number {
  const part = Number.parseInt(digest(`${name}\n${text}`).slice(0, 8), 16) / 2 ** 32;
  return isFound ? 0.9 + part * 0.1 : part * 0.01;
}

/** A text, a list of texts, or parts (texts and images) that are one input. */
function readInputs(input: unknown): Input[] {
  if (typeof input === 'string') return [{ text: input, hasImage: false }];
  if (isList(input) && input.length > 0 && input.length <= mostInputs) {
    if (input.every((item) => typeof item === 'string')) return input.map((text) => ({ text, hasImage: false }));
    if (input.every(isObject)) return [joined(input)];
  }
  throw new Refusal(
    400,
    `'input' must be a text, or a list of 1 to ${mostInputs} texts or parts.`,
    'input',
    'invalid_type',
  );
}

function joined(parts: readonly Body[]): Input {
  for (const [index, { type }] of parts.entries()) {
    if (type === 'text' || type === 'image_url') continue;
    const message = `Invalid value: '${String(type)}'. Supported values are: 'text' and 'image_url'.`;
    throw new Refusal(400, message, `input[${index}].type`, 'invalid_value');
  }
  const texts = parts.flatMap(({ text }) => (typeof text === 'string' ? [text] : []));
  return { text: texts.join('\n'), hasImage: parts.some(({ type }) => type === 'image_url') };
}
