// Bodies that Anthropic's Messages can say, as an arbitrary of fast-check, in the normal form in which they are written again.
import * as fc from 'fast-check';
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';
import { anyUrl } from '../../../support/arbitrary.ts';

const word = fc.stringMatching(/^[a-z][a-z0-9 "\\]{0,12}$/);
const id = fc.stringMatching(/^[a-zA-Z0-9_-]{1,12}$/);
const mark = fc.constantFrom({ type: 'ephemeral' }, { type: 'ephemeral', ttl: '1h' });
const schema = fc.constantFrom(
  { type: 'object', properties: {} },
  { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false },
);
const part = <T extends JsonObject>(required: { [K in keyof T]: fc.Arbitrary<T[K]> }, optional: object = {}) =>
  fc.record(
    { ...required, ...optional },
    { requiredKeys: Object.keys(required) as never[] },
  ) as fc.Arbitrary<JsonObject>;

const citation = fc.record({
  type: fc.constant('char_location'),
  cited_text: word,
  document_index: fc.nat(3),
  document_title: word,
});
/** Marked, because a text alone is written without its block. */
const text = part(
  { type: fc.constant('text'), text: word, cache_control: mark },
  { citations: fc.array(citation, { minLength: 1, maxLength: 2 }) },
);
const imageSource = fc.oneof(
  part({ type: fc.constant('base64'), media_type: fc.constant('image/png'), data: fc.constant('iVBORw0KGgo=') }),
  part({ type: fc.constant('url'), url: anyUrl }),
  part({ type: fc.constant('file'), file_id: id }),
);
const image = part({ type: fc.constant('image'), source: imageSource }, { cache_control: mark });
const documentSource = fc.oneof(
  part({ type: fc.constant('base64'), media_type: fc.constant('application/pdf'), data: fc.constant('JVBERi0=') }),
  part({ type: fc.constant('text'), media_type: fc.constant('text/plain'), data: word }),
  part({
    type: fc.constant('content'),
    content: fc.oneof(word, fc.array(part({ type: fc.constant('text'), text: word }))),
  }),
  part({ type: fc.constant('content'), content: fc.array(image, { minLength: 1, maxLength: 1 }) }),
);
const document = part(
  { type: fc.constant('document'), source: documentSource },
  { title: word, context: word, citations: fc.constant({ enabled: true }), cache_control: mark },
);
const found = part({
  type: fc.constant('search_result'),
  source: anyUrl,
  title: word,
  content: fc.array(part({ type: fc.constant('text'), text: word }), { minLength: 1, maxLength: 2 }),
  citations: fc.constant({ enabled: true }),
});
const result = part(
  { type: fc.constant('tool_result'), tool_use_id: id },
  {
    content: fc.oneof(word, fc.array(fc.oneof(text, image, document, found), { minLength: 1, maxLength: 2 })),
    is_error: fc.constant(true),
    cache_control: mark,
  },
);
const thinking = part({ type: fc.constant('thinking'), thinking: word, signature: id });
const redacted = part({ type: fc.constant('redacted_thinking'), data: id });
const call = part(
  {
    type: fc.constant('tool_use'),
    id,
    name: id,
    input: fc.dictionary(id, fc.oneof(word, fc.integer())) as fc.Arbitrary<JsonObject>,
  },
  { cache_control: mark, caller: fc.constant({ type: 'direct' }) },
);
const server = part({
  type: fc.constant('server_tool_use'),
  id,
  name: fc.constant('web_search'),
  input: fc.constant({}),
});

const blocks = (...of: fc.Arbitrary<JsonObject>[]) => fc.array(fc.oneof(...of), { minLength: 1, maxLength: 3 });
const asked = fc.oneof(
  word,
  fc.tuple(fc.array(result, { maxLength: 2 }), blocks(text, image, document, found)).map(([a, b]) => [...a, ...b]),
);
const said = fc.oneof(word, blocks(text, thinking, redacted, call, server));
/** Roles in turn. */
const messages = fc.array(fc.tuple(asked, said), { minLength: 1, maxLength: 3 }).map((turns) =>
  turns.flatMap(([user, assistant]) => [
    { role: 'user', content: user },
    { role: 'assistant', content: assistant },
  ]),
);

const tool = fc.oneof(
  part(
    { name: id, input_schema: schema },
    { description: word, strict: fc.boolean(), cache_control: mark, defer_loading: fc.boolean() },
  ),
  part({ type: fc.constant('web_search_20250305'), name: fc.constant('web_search') }, { max_uses: fc.nat(5) }),
);
const choice = fc.oneof(
  part({ type: fc.constantFrom('auto', 'any') }, { disable_parallel_tool_use: fc.boolean() }),
  part({ type: fc.constant('tool'), name: id }, { disable_parallel_tool_use: fc.boolean() }),
  part({ type: fc.constant('none') }),
);
const thought = fc.oneof(
  part({ type: fc.constant('enabled'), budget_tokens: fc.integer({ min: 1024, max: 30_000 }) }),
  part({ type: fc.constant('adaptive') }, { display: fc.constantFrom('summarized', 'omitted') }),
  part({ type: fc.constant('disabled') }),
);
const config = fc.oneof(
  part(
    { effort: fc.constantFrom('low', 'medium', 'high', 'xhigh', 'max') },
    { task_budget: fc.constant({ type: 'tokens' }) },
  ),
  part({ format: part({ type: fc.constant('json_schema'), schema }) }),
);

export const body: fc.Arbitrary<JsonObject> = part(
  { model: fc.constant('claude-sonnet-4-5'), max_tokens: fc.integer({ min: 1, max: 64_000 }), messages },
  {
    system: fc.oneof(word, fc.array(text, { minLength: 1, maxLength: 2 })),
    temperature: fc.double({ min: 0, max: 1, noNaN: true }),
    top_p: fc.double({ min: 0, max: 1, noNaN: true }),
    top_k: fc.nat(500),
    stop_sequences: fc.array(word, { minLength: 1, maxLength: 2 }),
    stream: fc.constant(true),
    tools: fc.array(tool, { minLength: 1, maxLength: 3 }),
    tool_choice: choice,
    thinking: thought,
    output_config: config,
    metadata: part({ user_id: word }),
    service_tier: fc.constantFrom('auto', 'standard_only'),
    container: id,
    mcp_servers: fc.constant([{ type: 'url', url: 'https://example.com', name: 'a' }]),
    context_management: fc.constant({ edits: [{ type: 'clear_tool_uses_20250919' }] }),
    an_unknown_member: fc.anything({ maxDepth: 0, withNullPrototype: false }).map((value) => String(value)),
  },
);
