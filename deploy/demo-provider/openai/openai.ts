// The common part of chat completions and responses: tools, choices, formats and media, and the words that refuse them.
import { findBrokenPair, type Output, type Part, type Tool, type ToolChoice, type Turn } from '../conversation.ts';
import { mediaFromBase64, mediaFromId, mediaFromUrl, type Noun } from '../media/media.ts';
import { type Body, isList, isObject, optionalText, Refusal } from '../requests.ts';

/** A refusal (400) of one parameter. */
export function invalid(param: string, message: string, code: string | null = 'invalid_value'): Refusal {
  return new Refusal(400, message, param, code);
}

/** The refusal of a `type` or a `role` that is none of the known ones. */
export function unknownValue(param: string, value: unknown, known: string): Refusal {
  return invalid(param, `Invalid value: '${String(value)}'. Supported values are: ${known}.`);
}

/** A member that must be text. */
export function requireText(body: Body, name: string, param: string): string {
  const value = body[name];
  if (typeof value === 'string') return value;
  const path = `${param}.${name}`;
  if (value === undefined) throw invalid(path, `Missing required parameter: '${path}'.`, 'missing_required_parameter');
  throw invalid(path, `Invalid type for '${path}': expected a string.`, 'invalid_type');
}

/** A list of objects. */
export function requireObjects(value: unknown, param: string): Body[] {
  if (isList(value) && value.every(isObject)) return value;
  throw invalid(param, `Invalid type for '${param}': expected an array of objects.`, 'invalid_type');
}

/** An image, a document or a sound behind a URL: `data:` is read, `http(s):` is named. */
export function readUrl(noun: Noun, url: string, param: string, name?: string): Part {
  const media = mediaFromUrl(noun, url, name);
  if (media) return media;
  throw invalid(param, `Invalid '${param}': expected an http(s) URL or a data URL with base64.`);
}

/** A sound or a document as base64. */
export function readData(noun: Noun, mediaType: string, data: string, param: string): Part {
  const media = mediaFromBase64(noun, mediaType, data);
  if (media) return media;
  throw invalid(param, `Invalid '${param}': expected base64.`);
}

/** A document: `file_data` (a data URL), `file_url` or `file_id`. */
export function readFile(file: Body, param: string): Part {
  const { file_data: data, file_url: url, file_id: id } = file;
  const name = optionalText(file['filename']);
  if (typeof data === 'string') return readUrl('document', data, `${param}.file_data`, name);
  if (typeof url === 'string') return readUrl('document', url, `${param}.file_url`, name);
  if (typeof id === 'string') return mediaFromId('document', id);
  throw invalid(param, `Missing required parameter: '${param}.file_id'.`, 'missing_required_parameter');
}

/** A function (`parameters`) or a tool for free text. */
export function readTool(tool: Body, param: string, isFreeText: boolean): Tool {
  const name = requireText(tool, 'name', param);
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
    throw invalid(`${param}.name`, `Invalid '${param}.name': string does not match pattern '^[a-zA-Z0-9_-]+$'.`);
  }
  const schema = tool['parameters'] ?? undefined;
  if (schema !== undefined && !isObject(schema)) {
    throw invalid(`${param}.parameters`, `Invalid schema for function '${name}'.`, 'invalid_function_parameters');
  }
  return { name, schema: isFreeText ? undefined : schema, isFreeText };
}

/** The three modes, or the names that a dialect found in an object; refuses a tool that is not offered. */
export function readChoice(choice: unknown, tools: readonly Tool[], names: (choice: Body) => string[]): ToolChoice {
  const value = choice ?? 'auto';
  if (value !== 'auto' && tools.length === 0 && value !== 'none') {
    throw invalid(
      'tool_choice',
      "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
      null,
    );
  }
  if (value === 'auto' || value === 'none' || value === 'required') return { mode: value };
  if (!isObject(value)) throw unknownValue('tool_choice', value, "'none', 'auto', and 'required'");
  const wanted = names(value);
  const missing = wanted.find((name) => !tools.some((tool) => tool.name === name));
  if (missing !== undefined) throw invalid('tool_choice', `Tool choice '${missing}' not found in 'tools' parameter.`);
  // A tool that the provider itself would run cannot be forced here.
  if (wanted.length === 0) return { mode: 'auto' };
  const allowed = isObject(value['allowed_tools']) ? value['allowed_tools'] : value;
  const isOptional = value['type'] === 'allowed_tools' && allowed['mode'] !== 'required';
  return { mode: isOptional ? 'auto' : 'required', names: wanted };
}

/** `text`, `json_object` or `json_schema`, whose schema stands in `described`. */
export function readFormat(format: unknown, described: unknown, param: string): Output {
  if (!isObject(format) || format['type'] === 'text') return { kind: 'text' };
  if (format['type'] === 'json_object') return { kind: 'json' };
  if (format['type'] !== 'json_schema') {
    throw unknownValue(`${param}.type`, format['type'], "'json_object', 'json_schema', and 'text'");
  }
  if (!isObject(described)) {
    throw invalid(param, `Missing required parameter: '${param}.json_schema'.`, 'missing_required_parameter');
  }
  requireText(described, 'name', param);
  if (!isObject(described['schema'])) {
    throw invalid(`${param}.schema`, `Missing required parameter: '${param}.schema'.`, 'missing_required_parameter');
  }
  return { kind: 'schema', schema: described['schema'] };
}

/** One text or a list of up to four at which the answer ends. */
export function readStop(stop: unknown): string[] {
  const list = isList(stop) ? stop : [stop ?? []].flat();
  if (list.length > 4 || !list.every((item) => typeof item === 'string' && item !== '')) {
    throw invalid('stop', "Invalid 'stop': expected a string or an array of at most 4 strings, none empty.");
  }
  return list.map(String);
}

/** Refuses calls without results and results without calls, in the words that `tell` chooses. */
export function requirePairs(
  turns: readonly Turn[],
  tell: (isCall: boolean, id: string, turn: number) => Refusal,
): void {
  const broken = findBrokenPair(turns);
  if (broken) throw tell(broken.kind === 'call', broken.id, broken.turn);
}
