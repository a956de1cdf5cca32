// Compares what a client told with what a provider heard: what was lost must be named, and what is named must be lost.
import { isDeepStrictEqual } from 'node:util';
import { fieldName } from '../../../../proxy/dialects/field-names.ts';
import type { Entry, Heard, ProviderName } from './heard.ts';
import type { Call, ClientName, Settings } from './talk.ts';
import { base64, type Told } from './told.ts';

type Field = Parameters<typeof fieldName>[0];

/** How a loss of a setting is named. */
const fields: Readonly<Partial<Record<keyof Settings, Field>>> = {
  temperature: 'temperature',
  topP: 'topP',
  topK: 'topK',
  seed: 'seed',
  presencePenalty: 'presencePenalty',
  frequencyPenalty: 'frequencyPenalty',
  logitBias: 'logitBias',
  logprobs: 'logprobs',
  stop: 'stop',
  maxTokens: 'maxTokens',
  effort: 'thinking',
  budget: 'thinking',
  choice: 'toolChoice',
  parallel: 'parallelTools',
  format: 'output',
  verbosity: 'verbosity',
  user: 'user',
  metadata: 'metadata',
  tier: 'serviceTier',
};
/** What is meant where nothing is said. */
const usual: Readonly<Record<string, readonly unknown[]>> = {
  temperature: [1],
  topP: [1],
  presencePenalty: [0],
  frequencyPenalty: [0],
  logprobs: [false],
  choice: ['auto'],
  parallel: [true],
  format: ['text'],
  tier: ['auto', 'default'],
};

export interface Compared {
  readonly client: ClientName;
  readonly provider: ProviderName;
  readonly told: Told;
  readonly heard: Heard;
  readonly body: string;
  readonly dropped: readonly string[];
}

/** What is wrong, a sentence each. */
export function complaints(compared: Compared): readonly string[] {
  return [settingsOf, toolsOf, orderOf, placesOf, spokenOf, callsOf, mediaOf, thoughtsOf, namesOf].flatMap((look) =>
    look(compared),
  );
}

function isNamed({ client, dropped }: Compared, field: Field): boolean {
  const name = fieldName(field, client);
  return dropped.some((each) => each === name || (field === 'output' && each.startsWith(`${name}.`)));
}

function settingsOf(compared: Compared): readonly string[] {
  const { told, heard, provider } = compared;
  const asked = Object.entries(told.settings).filter(([, value]) => value !== undefined) as [keyof Settings, unknown][];
  const wrong = asked.flatMap(([key, value]): string[] => {
    if ((key === 'choice' || key === 'parallel') && told.tools.length === 0) return [];
    if (key === 'parallel' && told.settings.choice === 'none') return [];
    const got = heard.settings[key];
    // Then the gateway passes one call on.
    if (key === 'parallel' && value === false && got === undefined) return [];
    const field = fields[key];
    const named = field === undefined ? compared.dropped.includes('a_member_of_its_own') : isNamed(compared, field);
    const isSame = isDeepStrictEqual(got, value);
    const isBoth = field === 'thinking' && told.settings.effort !== undefined && told.settings.budget !== undefined;
    if (isSame && named && !isBoth) return [`${key} is named, and was heard`];
    const isThought = field === 'thinking' && (heard.settings['thinking'] !== undefined || value === 'none');
    const isForbidden = key === 'choice' && value === 'none' && heard.tools.length === 0;
    const isUsual = usual[key]?.includes(value) === true && (got === undefined || got === 'standard_only');
    if (isSame || named || isThought || isForbidden || isUsual) return [];
    return [`${key} is lost in silence: ${JSON.stringify(value)} became ${JSON.stringify(got)}`];
  });
  const { budget, maxTokens } = heard.settings as { budget?: number; maxTokens?: number };
  const isClaude = provider === 'messages' || provider === 'bedrock';
  const isOver =
    isClaude &&
    told.settings.budget === undefined &&
    budget !== undefined &&
    maxTokens !== undefined &&
    budget >= maxTokens;
  const stream = provider === 'gemini' || provider === 'bedrock' ? true : heard.settings['stream'];
  return [
    ...wrong,
    ...(isOver ? ['the budget of thoughts is not below the cap'] : []),
    ...(stream === false ? ['no stream is asked for by a word'] : []),
  ];
}

const longestNames: Readonly<Record<ProviderName, RegExp>> = {
  chat: /^[\w-]{1,64}$/,
  responses: /^[\w-]{1,64}$/,
  messages: /^[\w-]{1,128}$/,
  bedrock: /^[\w-]{1,64}$/,
  gemini: /^[A-Za-z_][\w.:-]{0,63}$/,
};

function toolsOf(compared: Compared): readonly string[] {
  const { told, heard, provider, dropped } = compared;
  if (told.settings.choice === 'none' && heard.tools.length === 0) return [];
  const lost = told.tools.flatMap(({ name, description }, index) => {
    const isHeard = heard.tools.some((tool) => tool.description?.startsWith(description ?? ''));
    return isHeard || dropped.includes(`tools[${index}]`) || dropped.includes('tools')
      ? []
      : [`the tool ${name} is lost in silence`];
  });
  const names = heard.tools.map(({ name }) => name);
  const unlike = told.tools.flatMap(({ description, schema, isFree }) => {
    const got = heard.tools.find((tool) => tool.description?.startsWith(description));
    const asked = isFree ? undefined : Object.keys((schema['properties'] ?? {}) as object);
    const isSame = asked === undefined || got === undefined || got.isFree || isDeepStrictEqual(got.parameters, asked);
    return isSame ? [] : [`a tool takes ${got.parameters.join(', ')} and not ${asked.join(', ')}`];
  });
  const odd = names
    .filter((name) => !longestNames[provider].test(name))
    .map((name) => `no tool may have the name ${name}`);
  return [...lost, ...unlike, ...odd, ...(new Set(names).size < names.length ? ['two tools have one name'] : [])];
}

/** Instructions in the middle stand behind what came before them, and texts of blanks nowhere where they are refused. */
function placesOf({ told, heard, provider }: Compared): readonly string[] {
  const texts = heard.said.flatMap((entry) => (entry.kind === 'text' ? [entry.text] : []));
  const all = texts.join('');
  const wrong = told.inner.flatMap(({ text, before }) =>
    all.indexOf(before) > all.indexOf(text) ? [`instructions are told before ${JSON.stringify(before)}`] : [],
  );
  const isStrict = provider === 'messages' || provider === 'bedrock';
  return isStrict && texts.some((text) => text.trim() === '') ? [...wrong, 'a text of blanks is refused there'] : wrong;
}

/** Texts in their order; formats may join those that follow one another. */
function spokenOf({ told, heard }: Compared): readonly string[] {
  const texts = heard.said.filter((entry) => entry.kind === 'text');
  const all = texts.map(({ text }) => text);
  const wrong: string[] = [];
  for (const text of told.instructions)
    if (!all.some((said) => said.includes(text))) wrong.push(`instructions are lost: ${text}`);
  let [at, from] = [0, 0];
  for (const { role, text } of told.spoken) {
    let found = -1;
    for (; at < texts.length; at += 1, from = 0) {
      const entry = texts[at];
      found = entry?.role === role ? entry.text.indexOf(text.trimEnd(), from) : -1;
      if (found !== -1) break;
    }
    if (found === -1) return [...wrong, `what the ${role} said is lost, or stands elsewhere: ${JSON.stringify(text)}`];
    from = found + text.length;
  }
  return wrong;
}

function callsOf(compared: Compared): readonly string[] {
  const { told, heard } = compared;
  const calls = heard.said.filter((entry) => entry.kind === 'call');
  const results = heard.said.filter((entry) => entry.kind === 'result');
  // A provider that is offered no tools may be told of calls in words.
  if (calls.length === 0 && heard.tools.length === 0)
    return told.calls.flatMap((call) => (isToldInWords(call, heard.said) ? [] : [`a call is lost: ${call.id}`]));
  if (calls.length !== told.calls.length || results.length !== calls.length)
    return [`${told.calls.length} calls became ${calls.length}, with ${results.length} results`];
  const ids = calls.flatMap(({ id }) => (id === undefined ? [] : [id]));
  if (new Set(ids).size < ids.length) return ['two calls have one id'];
  return told.calls.flatMap((call, index): string[] => {
    const got = calls[index];
    const description = told.tools[call.tool]?.description;
    const name =
      heard.tools.find((tool) => tool.description?.startsWith(description ?? ''))?.name ?? told.tools[call.tool]?.name;
    // Without ids results belong to calls by their order.
    const answered = got?.id === undefined ? results[index] : results.find(({ id }) => id === got.id);
    return [
      ...(got?.name === name ? [] : [`a call of ${name} became one of ${got?.name}`]),
      ...(isDeepStrictEqual(got?.input, call.input)
        ? []
        : [`the input ${JSON.stringify(call.input)} became ${JSON.stringify(got?.input)}`]),
      ...(answered !== undefined && holds(answered.text, call.result)
        ? []
        : [`the result ${JSON.stringify(call.result)} became ${JSON.stringify(answered)}`]),
      ...(told.hasErrors && call.isError && !tellsError(answered) && !isNamed(compared, 'toolError')
        ? ['an error of a tool is lost in silence']
        : []),
    ];
  });
}

/** By a member, or in words. */
function tellsError(result: Extract<Entry, { kind: 'result' }> | undefined): boolean {
  return result?.isError === true || /^\W*error\b/i.test(result?.text ?? '');
}

/** Servers are given an object where a tool gave one, so its JSON may be written otherwise. */
function holds(text: string, result: string): boolean {
  if (text.includes(result) || result.trim() === '') return true;
  const word = /w\d+w/.exec(result)?.[0];
  return /^[[{]/.test(result) && word !== undefined && text.includes(word);
}

/** Servers want the results of calls at once behind them. */
function orderOf({ heard, provider }: Compared): readonly string[] {
  if (provider === 'responses') return [];
  let open = 0;
  const early = heard.said.some(({ kind, ...entry }) => {
    if (kind === 'call') open += 1;
    if (kind === 'result') open -= 1;
    return kind === 'text' && open > 0 && 'role' in entry && entry.role === 'user';
  });
  return early ? ['the user speaks before the results of calls'] : [];
}

function isToldInWords({ id, result }: Call, said: readonly Entry[]): boolean {
  const texts = said.flatMap((entry) => (entry.kind === 'text' ? [entry.text] : []));
  // An id may have been made fit.
  const word = /w\d+w/.exec(id)?.[0] ?? id.replaceAll(/\W/g, '_');
  return texts.some((text) => text.includes(word)) && texts.some((text) => text.includes(result.trim()));
}

function mediaOf(compared: Compared): readonly string[] {
  const { told, heard } = compared;
  const all = JSON.stringify(heard.said);
  const lost = told.media.filter(({ mark }) => !all.includes(mark) && !all.includes(base64(mark)));
  if (lost.length > 0 && !isNamed(compared, 'turns')) return [`media are lost in silence: ${JSON.stringify(lost)}`];
  return lost.length === 0 && isNamed(compared, 'turns') ? ['what was said is named as lost, and is not'] : [];
}

function thoughtsOf(compared: Compared): readonly string[] {
  const { told, heard } = compared;
  const thoughts = heard.said.filter((entry) => entry.kind === 'thought');
  const lost = told.thoughts.filter(
    ({ text, proof }) =>
      !thoughts.some((each) => each.proof === proof && (each.text === '' || each.text.includes(text))),
  );
  if (lost.length > 0 && !isNamed(compared, 'reasoning'))
    return [`thoughts are lost in silence: ${JSON.stringify(lost)}`];
  return lost.length === 0 && isNamed(compared, 'reasoning') ? ['thoughts are named as lost, and are not'] : [];
}

/** Names of what the client never said. */
function namesOf(compared: Compared): readonly string[] {
  const { client, dropped, told, body } = compared;
  const isMarked = /"cache_control"|"cachePoint"/.test(body);
  const marks =
    told.hasMarks && !isMarked && !isNamed(compared, 'cacheMark') ? ['marks of a cache are lost in silence'] : [];
  const named = new Set(
    Object.entries(told.settings).flatMap(([key, value]) => {
      const field = fields[key as keyof Settings];
      return value === undefined ? [] : [field === undefined ? 'a_member_of_its_own' : fieldName(field, client)];
    }),
  );
  const others: readonly (readonly [Field, boolean])[] = [
    ['turns', told.media.length > 0],
    ['reasoning', told.thoughts.length > 0],
    ['cacheMark', told.hasMarks],
    ['fileName', told.media.some(({ kind }) => kind === 'file')],
    ['toolError', told.hasErrors],
    ['toolSchema', told.tools.length > 0],
    ['tools', told.tools.length > 0],
  ];
  for (const [field, isSaid] of others) if (isSaid) named.add(fieldName(field, client));
  const strict = client === 'chat' && told.settings.format === 'schema';
  const odd = dropped.filter((name) => {
    const stem = name.replace(/\[\d+\]$/, '');
    return (
      !named.has(stem) &&
      ![...named].some((each) => name.startsWith(`${each}.`)) &&
      !(strict && name.includes('strict'))
    );
  });
  return [...marks, ...odd.map((name) => `${name} is named, and was never said`)];
}
