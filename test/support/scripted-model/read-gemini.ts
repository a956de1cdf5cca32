// Reads requests as Google's `generateContent` does.
import {
  anyMembers,
  base64,
  list,
  listIfAny,
  type Members,
  members,
  must,
  numbers,
  Refused,
  text,
  toolName,
  word,
} from './checks.ts';
import { checkEnds, type Heard, type HeardPart, type HeardTurn } from './heard.ts';
import { checkSignature } from './signatures.ts';
import type { Received } from './wire.ts';

const inGeneration =
  'temperature topP topK candidateCount maxOutputTokens stopSequences responseMimeType responseSchema responseJsonSchema ' +
  'presencePenalty frequencyPenalty seed responseLogprobs logprobs thinkingConfig mediaResolution responseModalities';
const inSchema =
  'type format title description nullable enum maxItems minItems properties required minProperties maxProperties minLength ' +
  'maxLength pattern example anyOf propertyOrdering default items minimum maximum';
/** What Google documents for calls of other models. */
const noProof = 'skip_thought_signature_validator';

export function readGemini({ path, headers, body }: Received): Heard {
  const [, model = '', action] =
    /^\/v1beta\/models\/([^/:]+):(generateContent|streamGenerateContent\?alt=sse)$/.exec(path) ?? [];
  if (action === undefined) throw new Refused(`Not found: ${path}`, 404);
  must(headers['x-goog-api-key'] !== undefined, 'API key not valid.');
  members(body, 'body', 'systemInstruction generationConfig tools toolConfig safetySettings cachedContent', 'contents');
  const config = members(body['generationConfig'] ?? {}, 'generationConfig', inGeneration);
  numbers(config, 'generationConfig', { any: 'temperature topP seed', wholes: 'maxOutputTokens topK' });
  const turns = withIds(
    list(body['contents'], 'contents').map((value, index) => readTurn(value, `contents[${index}]`)),
  );
  checkEnds(turns);
  const tools = listIfAny(body['tools'], 'tools').flatMap(readTools);
  if (body['toolConfig'] !== undefined) readToolConfig(body['toolConfig']);
  const thinking = members(
    config['thinkingConfig'] ?? {},
    'thinkingConfig',
    'includeThoughts thinkingBudget thinkingLevel',
  );
  const { thinkingLevel: level } = thinking;
  if (level !== undefined) word(level, 'thinkingLevel', ['minimal', 'low', 'medium', 'high']);
  const instruction = members(body['systemInstruction'] ?? { parts: [] }, 'systemInstruction', 'role', 'parts');
  return {
    model,
    stream: action.startsWith('stream'),
    system: list(instruction['parts'], 'systemInstruction')
      .map((part) => text(members(part, 'systemInstruction', '', 'text')['text'], 'systemInstruction'))
      .join('\n'),
    turns,
    tools,
    hasSchema: readFormat(config),
    thinks: thinking['includeThoughts'] === true,
    tellsUsage: true,
    tellsSignature: true,
  };
}

/** A part with the members that only Google has. */
interface GeminiPart {
  readonly part: HeardPart;
  readonly isSigned?: boolean;
  /** Of the function. */
  readonly name?: string;
}

interface GeminiTurn {
  readonly role: HeardTurn['role'];
  readonly parts: readonly GeminiPart[];
}

/** Results belong to calls by name and order; there are as many as calls, and they come next. */
function withIds(turns: readonly GeminiTurn[]): readonly HeardTurn[] {
  let made = 0;
  let open: { readonly id: string; readonly name: string; readonly given: string }[] = [];
  return turns.map(({ role, parts }) => {
    const results = parts.filter(({ part }) => part.kind === 'result');
    must(
      results.length === open.length,
      'there must be as many function responses as function calls in the turn before',
    );
    const waiting = open;
    open = [];
    return {
      role,
      parts: parts.map(({ part, name = '', isSigned = false }): HeardPart => {
        if (part.kind === 'call') {
          must(open.length > 0 || isSigned, `Function call is missing a thought_signature: ${name}`);
          const id = `${name}-${made}`;
          made += 1;
          open.push({ id, name, given: part.id });
          return { ...part, id };
        }
        if (part.kind !== 'result') return part;
        const found = waiting.findIndex((call) => call.name === name && call.given === part.id);
        const [call] = found === -1 ? [] : waiting.splice(found, 1);
        if (call === undefined) throw new Refused(`no function call ${name} (${part.id})`);
        return { ...part, id: call.id };
      }),
    };
  });
}

function readTurn(value: unknown, path: string): GeminiTurn {
  const turn = members(value, path, '', 'role parts');
  const role = word(turn['role'], `${path}.role`, ['user', 'model']);
  const parts = list(turn['parts'], `${path}.parts`);
  must(parts.length > 0, `${path}.parts: must not be empty`);
  return {
    role: role === 'user' ? 'user' : 'assistant',
    parts: parts.map((part, index) => readPart(part, `${path}.parts[${index}]`)),
  };
}

function readPart(value: unknown, path: string): GeminiPart {
  const part = members(value, path, 'text thought thoughtSignature functionCall functionResponse inlineData');
  const signature = text(part['thoughtSignature'] ?? '', path);
  if (part['inlineData'] !== undefined) {
    const { mimeType, data } = members(part['inlineData'], path, '', 'mimeType data');
    return { part: { kind: 'image', mediaType: text(mimeType, path), data: base64(data, path) } };
  }
  if (part['functionCall'] !== undefined) return readCall(part['functionCall'], signature, path);
  if (part['functionResponse'] !== undefined) {
    const { id = '', name, response } = members(part['functionResponse'], path, 'id parts', 'name response');
    const { output } = anyMembers(response, `${path}.response`);
    return { part: { kind: 'result', id: text(id, path), output: text(output, path) }, name: toolName(name, path) };
  }
  const words = text(part['text'], `${path}.text`);
  must(words !== '' || signature !== '', `${path}.text: must not be empty`);
  if (part['thought'] === true) return { part: { kind: 'thought', text: words, signature } };
  return { part: { kind: 'text', text: words } };
}

function readCall(value: unknown, signature: string, path: string): GeminiPart {
  const call = members(value, path, 'id args', 'name');
  const name = toolName(call['name'], `${path}.name`);
  const isSigned = signature !== '';
  if (isSigned && signature !== noProof) checkSignature('gemini', signature);
  const input = anyMembers(call['args'] ?? {}, `${path}.args`);
  return { part: { kind: 'call', id: text(call['id'] ?? '', path), name, input }, name, isSigned };
}

function readTools(value: unknown): readonly string[] {
  const { functionDeclarations } = members(value, 'tools', '', 'functionDeclarations');
  return list(functionDeclarations, 'functionDeclarations').map((entry, index) => {
    const path = `tools[0].functionDeclarations[${index}]`;
    const declared = members(entry, path, 'description parameters parametersJsonSchema', 'name');
    if (declared['parameters'] !== undefined) checkSchema(declared['parameters'], `${path}.parameters`);
    return toolName(declared['name'], `${path}.name`);
  });
}

function readToolConfig(value: unknown): void {
  const { functionCallingConfig } = members(value, 'toolConfig', '', 'functionCallingConfig');
  const { mode } = members(functionCallingConfig, 'functionCallingConfig', 'allowedFunctionNames', 'mode');
  word(mode, 'mode', ['AUTO', 'ANY', 'NONE']);
}

function readFormat(config: Members): boolean {
  const { responseSchema, responseJsonSchema, responseMimeType } = config;
  if (responseSchema === undefined && responseJsonSchema === undefined) return false;
  must(responseMimeType === 'application/json', 'responseMimeType: must be application/json');
  if (responseSchema !== undefined) checkSchema(responseSchema, 'responseSchema');
  return true;
}

/** The part of OpenAPI that Google knows. */
function checkSchema(value: unknown, path: string): void {
  const schema = members(value, path, inSchema);
  for (const [name, property] of Object.entries(anyMembers(schema['properties'] ?? {}, path))) {
    checkSchema(property, `${path}.properties.${name}`);
  }
  if (schema['items'] !== undefined) checkSchema(schema['items'], `${path}.items`);
}
