// Where servers of one dialect differ from its inventor. Rows of providers name them; writers obey. Absent: as the inventor has it.
import type { TextForm } from './tools/call-forms.ts';

export interface Quirks {
  /** Chat: the member for the most tokens of an answer. Absent: `max_completion_tokens` for OpenAI's own models that think, else `max_tokens`. */
  readonly maxTokens?: 'max_tokens' | 'max_completion_tokens' | undefined;
  /** Chat: instructions have the role `system`, also those for models that know `developer`. */
  readonly hasOnlySystemRole?: boolean | undefined;
  /** Chat: `content` is a text; lists of texts are joined, and other parts cannot be said. */
  readonly hasOnlyTextContent?: boolean | undefined;
  /** Chat: how thinking is asked for. Absent: `reasoning_effort`. `none`: it cannot be. */
  readonly thinking?: 'reasoning_effort' | 'reasoning' | 'none' | undefined;
  /** Chat: proof of thoughts is taken back in `extra_content`, as Google has it. Absent: of models that are named as Google's are. */
  readonly takesProof?: boolean | undefined;
  /**
   * Chat: a last message of the assistant with `prefix: true` is continued, at paths that begin so. Absent: nowhere.
   */
  readonly prefix?: string | undefined;
  /** Chat: `response_format` of the type `json_schema` is known. Absent: it is. */
  readonly outputSchema?: false | undefined;
  /** Members that the server refuses or does not obey, by their name in its dialect (`seed`, `logprobs`, `parallel_tool_calls`, `n`). */
  readonly without?: readonly string[] | undefined;
  /** Tools that take free text are known. Absent: only where `isInventor` says so. */
  readonly hasFreeTextTools?: boolean | undefined;
  /** The server is its dialect's inventor, so everything that is documented works. */
  readonly isInventor?: boolean | undefined;
  /** The body has no `model`; the path does. */
  readonly isModelInPath?: boolean | undefined;
  /** The form of call ids that the server accepts. */
  readonly callId?: TextForm | undefined;
  /** Members that are added to every body where the client has not named them (`anthropic_version` of Vertex). */
  readonly adds?: Readonly<Record<string, string>> | undefined;
  /** Gemini: the caller's schemas go into `parametersJsonSchema` and `responseJsonSchema` as they are. */
  readonly takesJsonSchema?: boolean | undefined;
}
