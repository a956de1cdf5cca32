// The settings of a realtime session: what a client may change, and how the session is described.
import type { Conversation } from '../conversation.ts';
import { invalid, requireObjects, unknownValue } from '../openai/openai.ts';
import { readTools } from '../openai/responses-request.ts';
import { type Body, isList, isObject } from '../requests.ts';

export type Settings = {
  readonly instructions: string;
  /** The form of an answer. `audio`: sound, and its transcript. */
  readonly modality: 'text' | 'audio';
  readonly voice: string;
  /** As the client wrote them. */
  readonly tools: readonly Body[];
  readonly toolChoice: unknown;
  /** Tokens of an answer. */
  readonly limit: number | 'inf';
};

/** Sound in both directions: 16 bits, little-endian, one channel. */
const format = { type: 'audio/pcm', rate: 24_000 };

export const defaultSettings: Settings = {
  instructions: '',
  modality: 'text',
  voice: 'marin',
  tools: [],
  toolChoice: 'auto',
  limit: 'inf',
};

/**
 * The settings with the changes of a `session` or a `response` (the name of which is `param`). Refuses what the demo cannot do: another format
 * of sound, or to notice by itself when a person has spoken. Members it does not know change nothing, and are not in what it answers.
 */
export function changeSettings(settings: Settings, changes: Body, param: string): Settings {
  const { instructions = settings.instructions, tool_choice: toolChoice = settings.toolChoice } = changes;
  if (typeof instructions !== 'string') {
    throw invalid(`${param}.instructions`, `Invalid type for '${param}.instructions': expected a string.`);
  }
  const audio = isObject(changes['audio']) ? changes['audio'] : {};
  const [input, output] = [audio['input'], audio['output']].map((side) => (isObject(side) ? side : {}));
  requireFormat(input?.['format'], `${param}.audio.input.format`);
  requireFormat(output?.['format'], `${param}.audio.output.format`);
  if ((input?.['turn_detection'] ?? null) !== null) {
    const place = `${param}.audio.input.turn_detection`;
    throw invalid(
      place,
      `Invalid '${place}': the demo hears no pauses; set it to null, commit and ask for a response.`,
    );
  }
  const tools = changes['tools'] === undefined ? settings.tools : requireObjects(changes['tools'], `${param}.tools`);
  readTools({ tools, tool_choice: toolChoice });
  const voice = output?.['voice'];
  return {
    instructions,
    tools,
    toolChoice,
    modality: readModality(changes['output_modalities'], settings, `${param}.output_modalities`),
    voice: typeof voice === 'string' ? voice : settings.voice,
    limit: readLimit(changes['max_output_tokens'], settings, `${param}.max_output_tokens`),
  };
}

/** How the demo model is asked with them. */
export function askedWith(settings: Settings): Omit<Conversation, 'model' | 'turns'> {
  const { tools, toolChoice, limit } = settings;
  return {
    ...readTools({ tools, tool_choice: toolChoice }),
    isParallel: true,
    output: { kind: 'text' },
    thinks: false,
    limit: limit === 'inf' ? Number.POSITIVE_INFINITY : limit,
    stop: [],
  };
}

/** The session as its events have it. `expiresAt`: seconds since 1970. */
export function describeSession(settings: Settings, id: string, model: string, expiresAt: number): object {
  const { instructions, modality, voice, tools, toolChoice, limit } = settings;
  return {
    type: 'realtime',
    object: 'realtime.session',
    id,
    model,
    output_modalities: [modality],
    instructions,
    tools,
    tool_choice: toolChoice,
    max_output_tokens: limit,
    tracing: null,
    truncation: 'auto',
    prompt: null,
    expires_at: expiresAt,
    audio: {
      input: { format, transcription: null, noise_reduction: null, turn_detection: null },
      output: { ...describeSound(voice), speed: 1 },
    },
    include: null,
  };
}

/** How an answer sounds. */
export function describeSound(voice: string): object {
  return { format, voice };
}

function requireFormat(asked: unknown, param: string): void {
  if (asked === undefined) return;
  if (isObject(asked) && asked['type'] === format.type && (asked['rate'] ?? format.rate) === format.rate) return;
  throw invalid(param, `Invalid '${param}': the demo has audio/pcm of ${format.rate} samples in a second alone.`);
}

function readModality(asked: unknown, { modality }: Settings, param: string): Settings['modality'] {
  if (asked === undefined) return modality;
  const [only, ...more] = isList(asked) ? asked : [];
  if (more.length === 0 && (only === 'text' || only === 'audio')) return only;
  throw invalid(
    param,
    `Invalid modalities: ${JSON.stringify(asked)}. Supported combinations are: ['text'] and ['audio'].`,
  );
}

function readLimit(asked: unknown, { limit }: Settings, param: string): Settings['limit'] {
  if (asked === undefined) return limit;
  if (asked === 'inf' || (typeof asked === 'number' && Number.isInteger(asked) && asked >= 1)) return asked;
  throw unknownValue(param, asked, "'inf' and integers of at least 1");
}
