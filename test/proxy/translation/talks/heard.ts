// What a provider hears in the body of a request, read by nothing of the gateway's own: who said what, which tools there are, and how the answer shall be.
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';
import type { DialectName } from '../../../../proxy/dialects/names.ts';

export type ProviderName = Exclude<DialectName, 'completions'>;

export type Entry =
  | { readonly kind: 'text'; readonly role: string; readonly text: string }
  | { readonly kind: 'call'; readonly id: string | undefined; readonly name: string; readonly input: unknown }
  | { readonly kind: 'result'; readonly id: string | undefined; readonly text: string; readonly isError?: boolean }
  | { readonly kind: 'thought'; readonly text: string; readonly proof: string | undefined }
  /** Bytes in base64, an address, or an id. */
  | { readonly kind: 'media'; readonly data: string };

export interface HeardTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: readonly string[];
  /** It takes free text, where the format has such tools. */
  readonly isFree: boolean;
}

/** In the order in which it is said, instructions first. Settings by the names of `Settings`; undefined ones are not asked for. */
export interface Heard {
  readonly said: readonly Entry[];
  readonly tools: readonly HeardTool[];
  readonly settings: Readonly<Record<string, unknown>>;
}

/** A body of any format, as it was parsed. */
type Any = ReturnType<typeof JSON.parse>;

export function heardBy(provider: ProviderName, body: JsonObject): Heard {
  return listeners[provider](body);
}

const listeners: Readonly<Record<ProviderName, (body: Any) => Heard>> = {
  chat: hearChat,
  messages: hearMessages,
  responses: hearResponses,
  gemini: hearGemini,
  bedrock: hearBedrock,
};

const list = (value: Any): Any[] =>
  Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
const toolOf = (tool: Any, isFree = false): HeardTool => {
  const { name, description, parameters, parametersJsonSchema, input_schema, inputSchema } = tool;
  const schema = parameters ?? parametersJsonSchema ?? input_schema ?? inputSchema?.json;
  return { name, description, isFree, parameters: Object.keys(schema?.properties ?? {}) };
};
const parsed = (text: string): unknown => JSON.parse(text);
const joined = (parts: Any): string =>
  typeof parts === 'string'
    ? parts
    : list(parts)
        .map((part: Any) => part.text ?? '')
        .join('\n');

function hearChat(body: Any): Heard {
  const media = (part: Any): string =>
    part.image_url?.url ?? part.input_audio?.data ?? part.file?.file_data ?? part.file?.file_id;
  const content = (role: string, value: Any): Entry[] =>
    typeof value === 'string'
      ? [{ kind: 'text', role, text: value }]
      : list(value).map(
          (part): Entry =>
            typeof part.text === 'string'
              ? { kind: 'text', role, text: part.text }
              : { kind: 'media', data: media(part) },
        );
  const message = ({
    role,
    content: value,
    refusal,
    tool_calls,
    tool_call_id: id,
    reasoning_content,
    reasoning_details,
    extra_content,
  }: Any): Entry[] => {
    if (role === 'tool')
      return [
        { kind: 'result', id, text: joined(value) },
        ...content('tool', value).filter(({ kind }) => kind === 'media'),
      ];
    const details = list(reasoning_details).map(
      (each): Entry => ({ kind: 'thought', text: each.text ?? each.summary ?? '', proof: each.signature ?? each.data }),
    );
    const blocks = list(extra_content?.anthropic?.thinking_blocks).map(
      (each): Entry => ({ kind: 'thought', text: each.thinking ?? '', proof: each.signature ?? each.data }),
    );
    const items = list(extra_content?.openai?.reasoning).map(
      (each): Entry => ({ kind: 'thought', text: joined(each.summary), proof: each.encrypted_content }),
    );
    const sealed = [extra_content, ...list(tool_calls).map((call) => call.extra_content)].flatMap((extra): Entry[] =>
      extra?.google === undefined ? [] : [{ kind: 'thought', text: '', proof: extra.google.thought_signature }],
    );
    const bare: Entry[] =
      reasoning_content === undefined ? [] : [{ kind: 'thought', text: reasoning_content, proof: undefined }];
    return [
      ...bare,
      ...details,
      ...blocks,
      ...items,
      ...sealed,
      ...content(role, value),
      ...content(role, refusal),
      ...list(tool_calls).map(({ id: callId, function: called, custom }): Entry => {
        if (custom !== undefined)
          return { kind: 'call', id: callId, name: custom.name, input: { input: custom.input } };
        return { kind: 'call', id: callId, name: called.name, input: parsed(called.arguments) };
      }),
    ];
  };
  return {
    said: list(body.messages).flatMap(message),
    tools: list(body.tools).map(({ function: called, custom }) => toolOf(custom ?? called, custom !== undefined)),
    settings: {
      temperature: body.temperature,
      topP: body.top_p,
      topK: body.top_k,
      seed: body.seed,
      presencePenalty: body.presence_penalty,
      frequencyPenalty: body.frequency_penalty,
      logitBias: body.logit_bias,
      logprobs: body.logprobs,
      stop: typeof body.stop === 'string' ? [body.stop] : body.stop,
      maxTokens: body.max_tokens ?? body.max_completion_tokens,
      thinking: body.reasoning_effort ?? body.reasoning ?? body.thinking,
      effort: body.reasoning_effort ?? body.reasoning?.effort,
      budget: body.reasoning?.max_tokens ?? body.thinking?.budget_tokens,
      choice: typeof body.tool_choice === 'object' ? 'tool' : body.tool_choice,
      parallel: body.parallel_tool_calls,
      format: { json_schema: 'schema', json_object: 'json', text: 'text' }[body.response_format?.type as 'text'],
      verbosity: body.verbosity,
      user: body.user,
      metadata: body.metadata,
      tier: body.service_tier,
      own: body.a_member_of_its_own,
      stream: body.stream,
    },
  };
}

function hearMessages(body: Any): Heard {
  const source = ({ source: { data, url, file_id } }: Any): string => data ?? url ?? file_id;
  const block = (role: string, part: Any): Entry[] => {
    switch (part.type) {
      case 'text':
        return [{ kind: 'text', role, text: part.text }];
      case 'thinking':
        return [{ kind: 'thought', text: part.thinking, proof: part.signature }];
      case 'redacted_thinking':
        return [{ kind: 'thought', text: '', proof: part.data }];
      case 'tool_use':
        return [{ kind: 'call', id: part.id, name: part.name, input: part.input }];
      case 'tool_result': {
        const text = joined(part.content);
        const shown = list(part.content).filter((each) => each.source !== undefined);
        return [
          { kind: 'result', id: part.tool_use_id, text, isError: part.is_error === true },
          ...shown.map((each): Entry => ({ kind: 'media', data: source(each) })),
        ];
      }
      default:
        return [{ kind: 'media', data: source(part) }];
    }
  };
  const content = (role: string, value: Any): Entry[] =>
    typeof value === 'string'
      ? [{ kind: 'text', role, text: value }]
      : list(value).flatMap((part) => block(role, part));
  const choice = { any: 'required' }[body.tool_choice?.type as 'any'] ?? body.tool_choice?.type;
  const isParallel = body.tool_choice?.disable_parallel_tool_use;
  return {
    said: [
      ...content('system', body.system),
      ...list(body.messages).flatMap(({ role, content: value }) => content(role, value)),
    ],
    tools: list(body.tools).map((tool) => toolOf(tool, tool.type === 'custom')),
    settings: {
      temperature: body.temperature,
      topP: body.top_p,
      topK: body.top_k,
      stop: body.stop_sequences,
      maxTokens: body.max_tokens,
      thinking: body.thinking ?? body.output_config?.effort,
      effort: body.output_config?.effort,
      budget: body.thinking?.budget_tokens,
      choice,
      parallel: isParallel === undefined ? undefined : !isParallel,
      format: body.output_config?.format === undefined ? undefined : 'schema',
      user: body.metadata?.user_id,
      tier: body.service_tier,
      own: body.a_member_of_its_own,
      stream: body.stream,
    },
  };
}

function hearResponses(body: Any): Heard {
  const content = (role: string, value: Any): Entry[] =>
    typeof value === 'string'
      ? [{ kind: 'text', role, text: value }]
      : list(value).map((part): Entry => {
          const data = part.image_url ?? part.file_data ?? part.file_url ?? part.file_id ?? part.input_audio?.data;
          return data === undefined ? { kind: 'text', role, text: part.text ?? part.refusal } : { kind: 'media', data };
        });
  const item = (value: Any): Entry[] => {
    switch (value.type ?? 'message') {
      case 'message':
        return content(value.role === 'developer' ? 'system' : value.role, value.content);
      case 'function_call':
        return [{ kind: 'call', id: value.call_id, name: value.name, input: parsed(value.arguments) }];
      case 'custom_tool_call':
        return [{ kind: 'call', id: value.call_id, name: value.name, input: { input: value.input } }];
      case 'function_call_output':
      case 'custom_tool_call_output':
        return [
          { kind: 'result', id: value.call_id, text: joined(value.output) },
          ...content('tool', value.output).filter(({ kind }) => kind === 'media'),
        ];
      case 'reasoning':
        return [
          {
            kind: 'thought',
            text: joined([...list(value.content), ...list(value.summary)]),
            proof: value.encrypted_content,
          },
        ];
      default:
        throw new Error(`an item of the type ${value.type}`);
    }
  };
  return {
    said: [...content('system', body.instructions ?? []), ...list(body.input).flatMap(item)],
    tools: list(body.tools).map((tool) => toolOf(tool, tool.type === 'custom')),
    settings: {
      temperature: body.temperature,
      topP: body.top_p,
      logprobs: list(body.include).includes('message.output_text.logprobs') ? true : undefined,
      maxTokens: body.max_output_tokens,
      thinking: body.reasoning,
      effort: body.reasoning?.effort,
      choice: typeof body.tool_choice === 'object' ? 'tool' : body.tool_choice,
      parallel: body.parallel_tool_calls,
      format: { json_schema: 'schema', json_object: 'json', text: 'text' }[body.text?.format?.type as 'text'],
      verbosity: body.text?.verbosity,
      user: body.user,
      metadata: body.metadata,
      tier: body.service_tier,
      own: body.a_member_of_its_own,
      stream: body.stream,
    },
  };
}

function hearGemini(body: Any): Heard {
  const part = (role: string, value: Any): Entry[] => {
    const {
      text,
      thought,
      functionCall: call,
      functionResponse: result,
      inlineData,
      fileData,
      thoughtSignature: proof,
    } = value;
    const sealed: Entry[] = proof === undefined ? [] : [{ kind: 'thought', text: '', proof }];
    if (thought === true) return [{ kind: 'thought', text, proof }];
    if (text !== undefined) return [{ kind: 'text', role, text }, ...sealed];
    if (call !== undefined) return [...sealed, { kind: 'call', id: call.id, name: call.name, input: call.args }];
    if (result === undefined) return [{ kind: 'media', data: inlineData?.data ?? fileData?.fileUri }];
    const told = result.response.output ?? result.response.error ?? result.response;
    const shown = list(result.parts).flatMap((each) => part(role, each));
    return [
      {
        kind: 'result',
        id: result.id,
        text: typeof told === 'string' ? told : JSON.stringify(told),
        isError: 'error' in result.response,
      },
      ...shown,
    ];
  };
  const config = body.generationConfig ?? {};
  const called = body.toolConfig?.functionCallingConfig;
  const modes = { AUTO: 'auto', NONE: 'none', ANY: called?.allowedFunctionNames === undefined ? 'required' : 'tool' };
  return {
    said: [
      ...list(body.systemInstruction?.parts).flatMap((each) => part('system', each)),
      ...list(body.contents).flatMap(({ role, parts }) =>
        list(parts).flatMap((each) => part(role === 'model' ? 'assistant' : role, each)),
      ),
    ],
    tools: list(body.tools).flatMap(({ functionDeclarations }) =>
      list(functionDeclarations).map((tool) => toolOf(tool)),
    ),
    settings: {
      temperature: config.temperature,
      topP: config.topP,
      topK: config.topK,
      seed: config.seed,
      presencePenalty: config.presencePenalty,
      frequencyPenalty: config.frequencyPenalty,
      logprobs: config.responseLogprobs,
      stop: config.stopSequences,
      maxTokens: config.maxOutputTokens,
      thinking: config.thinkingConfig,
      budget: config.thinkingConfig?.thinkingBudget,
      effort: config.thinkingConfig?.thinkingLevel,
      choice: modes[called?.mode as 'AUTO'],
      format: (config.responseSchema ?? config.responseJsonSchema) ? 'schema' : config.responseMimeType && 'json',
      own: body.a_member_of_its_own,
    },
  };
}

function hearBedrock(body: Any): Heard {
  const source = (value: Any): string => value.source.bytes ?? value.source.s3Location.uri;
  const block = (role: string, value: Any): Entry[] => {
    const { text, toolUse, toolResult, reasoningContent: thought, image, document, audio } = value;
    if (text !== undefined) return [{ kind: 'text', role, text }];
    if (toolUse !== undefined)
      return [{ kind: 'call', id: toolUse.toolUseId, name: toolUse.name, input: toolUse.input }];
    if (thought !== undefined) {
      return [
        {
          kind: 'thought',
          text: thought.reasoningText?.text ?? '',
          proof: thought.reasoningText?.signature ?? thought.redactedContent,
        },
      ];
    }
    if (toolResult === undefined) {
      const media = image ?? document ?? audio;
      return media === undefined ? [] : [{ kind: 'media', data: source(media) }];
    }
    const told = list(toolResult.content).map((each) =>
      each.json === undefined ? each : { text: JSON.stringify(each.json) },
    );
    const shown = list(toolResult.content).flatMap((each) => (each.image === undefined ? [] : block(role, each)));
    return [
      { kind: 'result', id: toolResult.toolUseId, text: joined(told), isError: toolResult.status === 'error' },
      ...shown,
    ];
  };
  const config = body.inferenceConfig ?? {};
  const more = body.additionalModelRequestFields ?? {};
  const choices = { auto: 'auto', any: 'required', tool: 'tool' };
  return {
    said: [
      ...list(body.system).flatMap((each) => block('system', each)),
      ...list(body.messages).flatMap(({ role, content }) => list(content).flatMap((each) => block(role, each))),
    ],
    tools: list(body.toolConfig?.tools).flatMap(({ toolSpec }) => list(toolSpec).map((tool) => toolOf(tool))),
    settings: {
      temperature: config.temperature,
      topP: config.topP,
      topK: more.top_k,
      stop: config.stopSequences,
      maxTokens: config.maxTokens,
      thinking: more.thinking ?? more.output_config?.effort,
      effort: more.output_config?.effort,
      budget: more.thinking?.budget_tokens,
      choice: choices[Object.keys(body.toolConfig?.toolChoice ?? {})[0] as 'auto'],
      format: body.outputConfig === undefined ? undefined : 'schema',
      own: body.a_member_of_its_own,
    },
  };
}
