// The settings of each kind of guardrail as fields of a form: data that one form draws. Every member of the schemas is here, else types fail.
import type { GuardrailKind } from '../../../../../domain/guardrails/merge-guardrails.ts';
import type { Guardrail } from '../../../../../schemas/types.ts';
import type { NameKind } from '../../parts/suggestions.ts';

export interface SettingField {
  readonly label: string;
  /** `lines`: a list, an entry on each line; `choices`: a list of some of the options; `text` and `words` are one line and several. */
  readonly type: 'text' | 'words' | 'lines' | 'number' | 'choice' | 'choices' | 'check' | 'json';
  readonly options?: readonly (readonly [value: string, text: string])[];
  readonly hint?: string;
  readonly placeholder?: string;
  readonly isRequired?: true;
  /** It is completed with such names. */
  readonly suggest?: NameKind;
  /** The initial value of a new guardrail, as text. */
  readonly begin?: string;
}

/** The API takes neither from operators: no variable is filled in for them. */
type InConfigAlone = 'secret' | 'headers';
type Settings = {
  readonly [Kind in GuardrailKind]: Readonly<
    Record<Exclude<keyof NonNullable<Guardrail[Kind]>, InConfigAlone>, SettingField>
  >;
};

const whatIsFound: SettingField = {
  label: 'What is found',
  type: 'choice',
  options: [
    ['block', 'Block: refuse the request, or end the answer'],
    ['redact', 'Redact: put the replacement in its place'],
    ['flag', 'Flag: only record it'],
  ],
  begin: 'block',
};
const replacement: SettingField = {
  label: 'Replacement',
  type: 'text',
  hint: 'What redact puts in its place. Empty: nothing.',
  begin: '[redacted]',
};
const fail: SettingField = {
  label: 'Without a verdict',
  type: 'choice',
  options: [
    ['closed', 'Closed: the request is refused'],
    ['open', 'Open: the request goes on'],
  ],
  begin: 'closed',
};
const askedWindow: SettingField = {
  label: 'Characters asked about together',
  type: 'number',
  hint: 'Of a streamed answer. Empty: 1000.',
};

function timeout(usual: number): SettingField {
  return { label: 'Timeout in milliseconds', type: 'number', hint: `Empty: ${usual}.`, placeholder: String(usual) };
}

/** In the order in which the form has them. */
export const settingFields: Settings = {
  keywords: {
    words: {
      label: 'Words or phrases',
      type: 'lines',
      hint: 'One on each line, found in any case.',
      placeholder: 'Bluebird',
      isRequired: true,
    },
    action: whatIsFound,
    replacement,
    whole_words: { label: 'Only as whole words', type: 'check', begin: 'true' },
  },
  regex: {
    patterns: {
      label: 'Patterns',
      type: 'lines',
      hint: 'One on each line, in the syntax of RE2. (?i) ignores case.',
      placeholder: 'EMP-[0-9]{6}',
      isRequired: true,
    },
    action: whatIsFound,
    replacement,
    window: {
      label: 'Characters a match may span',
      type: 'number',
      hint: 'A longer one is taken in pieces. Empty: 256.',
    },
  },
  pii: {
    kinds: {
      label: 'What is looked for',
      type: 'choices',
      options: [
        ['email', 'E-mail addresses'],
        ['phone', 'Telephone numbers'],
        ['card', 'Card numbers'],
        ['iban', 'Account numbers (IBAN)'],
        ['key', 'API keys and tokens'],
      ],
      begin: 'email\nphone\ncard\niban\nkey',
      isRequired: true,
    },
    action: {
      ...whatIsFound,
      options: [['mask', 'Mask: put a placeholder there, and the value back'], ...(whatIsFound.options ?? [])],
      begin: 'mask',
    },
    replacement,
  },
  system_prompt: {
    mode: {
      label: 'Where the words stand',
      type: 'choice',
      options: [
        ['prepend', "Before the client's own"],
        ['append', "Behind the client's own"],
        ['replace', "In place of the client's own"],
      ],
      begin: 'prepend',
    },
    text: { label: 'Words', type: 'words', placeholder: 'Never give legal advice.', isRequired: true },
  },
  limits: {
    max_prompt_characters: { label: 'Characters of a prompt, at most', type: 'number', hint: 'Empty: any number.' },
    max_tools: { label: 'Tools, at most', type: 'number', hint: 'Empty: any number.' },
    max_tokens: { label: 'Tokens of an answer, at most', type: 'number', hint: 'Empty: any number.' },
    when_above: {
      label: 'A request for more tokens',
      type: 'choice',
      options: [
        ['cap', 'Is lowered to the most'],
        ['block', 'Is refused'],
      ],
      begin: 'cap',
    },
    allowed_tools: { label: 'Allowed tools', type: 'lines', hint: 'One name on each line. Empty: every tool.' },
  },
  llm: {
    model: {
      label: 'Model',
      type: 'text',
      hint: 'An alias, a bare id or provider/model.',
      isRequired: true,
      suggest: 'models',
    },
    action: {
      label: 'What it does',
      type: 'choice',
      options: [
        ['judge', 'Judge: it says whether the words pass'],
        ['rewrite', 'Rewrite: its words take their place'],
      ],
      begin: 'judge',
    },
    prompt: {
      label: 'Its task',
      type: 'words',
      placeholder: 'Refuse whatever asks for medical advice.',
      isRequired: true,
    },
    fail,
    timeout_ms: timeout(10_000),
    window: askedWindow,
  },
  webhook: {
    url: {
      label: 'Address',
      type: 'text',
      hint: 'http or https, without a variable.',
      placeholder: 'https://guard.example.com/check',
      isRequired: true,
    },
    fail,
    timeout_ms: timeout(2_000),
    max_concurrent: { label: 'Questions at once', type: 'number', hint: 'Of one proxy, at most. Empty: 100.' },
    window: askedWindow,
    allow_private: { label: 'Its address may be of a private network', type: 'check', begin: 'false' },
  },
  schema: {
    schema: {
      label: 'JSON Schema of answers',
      type: 'json',
      hint: 'Complete in itself: no reference leads out of it.',
      begin: '{ "type": "object" }',
      isRequired: true,
    },
    action: {
      label: 'An answer of another form',
      type: 'choice',
      options: [
        ['block', 'Block: it ends'],
        ['flag', 'Flag: only record it'],
      ],
      begin: 'block',
    },
  },
};
