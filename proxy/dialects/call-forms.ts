// What servers take as the name of a tool and as the id of a call.

/** Texts of up to `longest` characters that hold none of `others`. */
export interface TextForm {
  /** Global. */
  readonly others: RegExp;
  readonly longest: number;
  /** They have neither more nor fewer characters, and no underscore. */
  readonly isExact?: boolean;
  /** What they begin with; absent: any character. */
  readonly beginning?: RegExp;
}

export interface CallForms {
  readonly name: TextForm;
  readonly id: TextForm;
}

const usual = /[^A-Za-z0-9_-]/g;
const anything = /(?!)/g;

/**
 * By the dialect of the server. OpenAI: names of up to 64 characters, ids of up to 40 (chat) and 64 (Responses). Anthropic: names of up to 128, ids of
 * `^[a-zA-Z0-9_-]+$`. Converse: both of up to 64 (docs.aws.amazon.com, ToolSpecification and ToolUseBlock). Gemini: names begin with a letter or an
 * underscore, and may hold dots and colons (ai.google.dev/api/caching#FunctionDeclaration).
 */
export const callForms = {
  chat: { name: { others: usual, longest: 64 }, id: { others: anything, longest: 40 } },
  responses: { name: { others: usual, longest: 64 }, id: { others: anything, longest: 64 } },
  messages: { name: { others: usual, longest: 128 }, id: { others: usual, longest: 256 } },
  bedrock: { name: { others: usual, longest: 64 }, id: { others: usual, longest: 64 } },
  gemini: {
    name: { others: /[^A-Za-z0-9_.:-]/g, longest: 64, beginning: /^[A-Za-z_]/ },
    id: { others: anything, longest: 256 },
  },
} as const satisfies Record<string, CallForms>;

/** Mistral (docs.mistral.ai/api): "Tool call id must be a-z, A-Z, 0-9, with a length of 9." */
export const nineLetters: TextForm = { others: /[^A-Za-z0-9]/g, longest: 9, isExact: true };
