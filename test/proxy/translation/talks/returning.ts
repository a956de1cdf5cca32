// Sends an answer back as a client keeps it, and looks at what a provider hears of it: the one that said it, or another one.
import { isDeepStrictEqual } from 'node:util';
import type { Answered } from './answering.ts';
import { asked, type Pair, sentBy } from './asking.ts';
import { type Heard, type HeardTool, heardBy } from './heard.ts';
import { continued, type Received } from './received.ts';
import { isCall, isSpoken, isThought } from './said-answer.ts';

const question = 'and then?';

/** What is wrong with what the provider of `to` hears of an answer. */
export function returnComplaints(received: Received, done: Answered, to: Pair): readonly string[] {
  if (to.client === 'completions') return [];
  const body = continued(to.client, JSON.parse(JSON.stringify(done.body)), received, question);
  const again = asked(to, body, 'drop');
  const heard = heardBy(to.provider, sentBy(again));
  const texts = heard.said
    .flatMap((entry) => (entry.kind === 'text' && entry.role === 'assistant' ? [entry.text] : []))
    .join('');
  const lost = done.said.parts.filter(isSpoken).filter(({ text }) => !texts.includes(text.trim()));
  return [
    ...lost.map(({ text }) => `what was said does not come back: ${JSON.stringify(text)}`),
    ...callComplaints(heard, done, to),
    ...proofComplaints(heard, again.dropped, { done, to }),
  ];
}

function callComplaints(heard: Heard, { said, pair, heard: before }: Answered, to: Pair): readonly string[] {
  const given = said.parts.filter(isCall);
  const calls = heard.said.filter((entry) => entry.kind === 'call').slice(-given.length);
  const results = heard.said.filter((entry) => entry.kind === 'result').slice(-given.length);
  // Who is offered no tools may be told of calls in words.
  if (given.length === 0 || heard.tools.length === 0) return [];
  if (calls.length < given.length) return [`${given.length} calls come back as ${calls.length}`];
  const isSame = to.provider === pair.provider && to.quirks.callId === undefined;
  return given.flatMap((call, at): string[] => {
    const got = calls[at];
    const result = got?.id === undefined ? results[at] : results.find(({ id }) => id === got.id);
    const name = nameAt(heard, before.tools[call.tool % before.tools.length]);
    const isAnswered = result?.text.includes(`result ${at} of ${question}`) === true;
    const hasId = !isSame || call.id === undefined || got?.id === undefined || got.id === call.id;
    return [
      ...(isAnswered ? [] : [`the result of the call ${got?.id} is ${JSON.stringify(result)}`]),
      ...(got?.name === name ? [] : [`a call of ${name} comes back as one of ${got?.name}`]),
      ...(hasId ? [] : [`the id ${call.id} comes back as ${got?.id}`]),
      ...(isDeepStrictEqual(got?.input, call.input)
        ? []
        : [`the input ${JSON.stringify(call.input)} comes back as ${JSON.stringify(got?.input)}`]),
    ];
  });
}

/** What a provider calls the tool that another one heard of. */
function nameAt({ tools }: Heard, tool: HeardTool | undefined): string | undefined {
  const word = /w\d+w/.exec(tool?.description ?? '')?.[0] ?? '';
  return tools.find(({ description }) => description.includes(word))?.name;
}

const reasoningNames: readonly string[] = ['messages.reasoning_content', 'input.reasoning', 'messages.thinking'];
/** Whose proofs a provider gives and takes. */
const families: Readonly<Record<string, string>> = {
  messages: 'anthropic',
  bedrock: 'anthropic',
  responses: 'openai',
  gemini: 'google',
};

/** Thoughts come back with their proof, or are named; who did not give a proof does not get it. */
function proofComplaints(
  { said: entries }: Heard,
  dropped: readonly string[],
  { done: { pair, said }, to }: { readonly done: Answered; readonly to: Pair },
): readonly string[] {
  const thoughts = entries.filter((entry) => entry.kind === 'thought');
  const isNamed = dropped.some((name) => reasoningNames.includes(name));
  const proofs = said.parts.flatMap((part) => {
    if (part.kind === 'thought') return pair.provider === 'gemini' || pair.provider === 'chat' ? [] : [part.proof];
    return part.kind === 'call' && pair.provider === 'gemini' && part.proof !== undefined ? [part.proof] : [];
  });
  const [got, lost] = [true, false].map((isHeard) =>
    proofs.filter((proof) => thoughts.some((each) => each.proof === proof) === isHeard),
  );
  const isFamily = families[pair.provider] === families[to.provider];
  // Servers of chat may take the proofs of all.
  const isForeign = !isFamily && to.provider !== 'chat' && got !== undefined && got.length > 0;
  const isLost = isFamily && !to.model.includes('llama') && lost !== undefined && lost.length > 0;
  const untold = said.parts
    .filter(isThought)
    .filter(({ text }) => text !== '' && !thoughts.some((each) => each.text.includes(text)));
  return [
    ...(isForeign ? [`proofs of another family are told: ${got.join(', ')}`] : []),
    ...(isLost ? [`proofs do not come back: ${lost.join(', ')}`] : []),
    ...(untold.length === 0 || isNamed ? [] : ['thoughts do not come back, in silence']),
  ];
}
