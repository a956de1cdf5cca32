// The providers that clients are tried with, a column of the table each.
import { bedrockWire } from '../support/scripted-model/bedrock.ts';
import { chatWire } from '../support/scripted-model/chat.ts';
import { geminiWire } from '../support/scripted-model/gemini.ts';
import { messagesWire } from '../support/scripted-model/messages.ts';
import { responsesWire } from '../support/scripted-model/responses.ts';
import type { Wire } from '../support/scripted-model/wire.ts';

export interface TriedProvider {
  /** As the table of the documentation names it. */
  readonly title: string;
  readonly wire: Wire;
  /** Its settings; `url`: of the fake. */
  settings(url: string): object;
  /** Answers tell how many tokens were thoughts. */
  readonly countsThoughts: boolean;
  /** Thoughts come with a proof, and are had back with it. */
  readonly signs: boolean;
}

export const providers: readonly TriedProvider[] = [
  {
    title: 'Chat completions',
    wire: chatWire,
    settings: (url) => ({ type: 'openai', base_url: `${url}/v1` }),
    countsThoughts: true,
    signs: false,
  },
  {
    title: 'Responses',
    wire: responsesWire,
    settings: (url) => ({ type: 'openai', base_url: `${url}/v1`, dialects: ['responses'] }),
    countsThoughts: true,
    signs: true,
  },
  {
    title: 'Anthropic Messages',
    wire: messagesWire,
    settings: (url) => ({ type: 'anthropic', base_url: `${url}/v1` }),
    countsThoughts: false,
    signs: true,
  },
  {
    title: 'Gemini generateContent',
    wire: geminiWire,
    settings: (url) => ({ type: 'gemini', base_url: `${url}/v1beta`, dialects: ['gemini'] }),
    countsThoughts: true,
    signs: true,
  },
  {
    title: 'Bedrock Converse',
    wire: bedrockWire,
    settings: (url) => ({ type: 'bedrock', base_url: url }),
    countsThoughts: false,
    signs: true,
  },
];
