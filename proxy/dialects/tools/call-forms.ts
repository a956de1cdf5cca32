// The tool names and call ids that servers accept.
import type { DialectName } from '../names.ts';

/** Texts of 1 to `longest` characters that hold none of `others`. */
export interface TextForm {
  /** Global. */
  readonly others: RegExp;
  readonly longest: number;
  /** They have neither more nor fewer characters, and no underscore. */
  readonly isExact?: boolean;
  /** The first character; absent: any of them. */
  readonly beginning?: RegExp;
}

/** Neither is ever empty. */
export interface CallForms {
  readonly name: TextForm;
  readonly id: TextForm;
}

const usual = /[^A-Za-z0-9_-]/g;
const anything = /(?!)/g;
const letter = /^[A-Za-z_]/;

/**
 * By the dialect of the server. OpenAI: names of up to 64 characters, ids of up to 40 (chat) and 64 (Responses). Anthropic: names of up to 128, ids of
 * `^[a-zA-Z0-9_-]+$`. Converse: both of up to 64 (docs.aws.amazon.com, ToolSpecification and ToolUseBlock). Gemini: names begin with a letter or an
 * underscore, and may hold dots (ai.google.dev/api/caching#FunctionDeclaration, and its error "Invalid function name"); colons only since 2025.
 */
export const callForms = {
  chat: { name: { others: usual, longest: 64 }, id: { others: anything, longest: 40 } },
  responses: { name: { others: usual, longest: 64 }, id: { others: anything, longest: 64 } },
  messages: { name: { others: usual, longest: 128 }, id: { others: usual, longest: 256 } },
  bedrock: { name: { others: usual, longest: 64 }, id: { others: usual, longest: 64 } },
  gemini: {
    name: { others: /[^A-Za-z0-9_.-]/g, longest: 64, beginning: letter },
    id: { others: anything, longest: 256 },
  },
} as const satisfies Record<string, CallForms>;

/** Mistral (docs.mistral.ai/api): "Tool call id must be a-z, A-Z, 0-9, with a length of 9." */
export const nineLetters: TextForm = { others: /[^A-Za-z0-9]/g, longest: 9, isExact: true };

/** The facts of a target. */
interface Served {
  readonly model: string;
  readonly quirks: { readonly callId?: TextForm | undefined };
}

/** Models of Mistral, whose tokenizer wants the same wherever they are served (github.com/mistralai/mistral-common). */
const ofMistral = /(mis|minis|magis|devs|codes|voxs)tral|mixtral|pixtral/i;
const ofGoogle = /gemini/i;
const chatName: TextForm = { others: usual, longest: 64, beginning: letter };

/** The forms of names and ids that a target accepts. `forms`: those of the inventor of its dialect. */
export function callFormsOf(
  { name: dialect, callForms: forms }: { readonly name: DialectName; readonly callForms: CallForms },
  target: Served,
): CallForms {
  const isChat = dialect === 'chat';
  const name = isChat && ofGoogle.test(target.model) ? chatName : forms.name;
  const id = (isChat ? strictChatId(target) : undefined) ?? forms.id;
  return { name, id };
}

/** Ids that a server of the chat format takes, where it is known to take not all that OpenAI does. */
export function strictChatId({ model, quirks }: Served): TextForm | undefined {
  return quirks.callId ?? (ofMistral.test(model) ? nineLetters : undefined);
}
