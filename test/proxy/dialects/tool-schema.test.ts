// The schemas of tools reach every server as one of objects, whatever stands at their top, and what is lost there is told in words.
import { test } from 'tap';
import { bedrockTranslation } from '../../../proxy/dialects/bedrock/translate.ts';
import { chatTranslation } from '../../../proxy/dialects/chat/translate.ts';
import type { FunctionTool } from '../../../proxy/dialects/conversation/conversation.ts';
import type { JsonObject } from '../../../proxy/dialects/json/json.ts';
import { responsesTranslation } from '../../../proxy/dialects/responses/translate.ts';
import { withObjectInput } from '../../../proxy/dialects/tools/tool-schema.ts';
import { leastRequest, recordLosses } from './least-request.ts';

const text = { type: 'string' } as const;
const tool = (parameters: JsonObject | undefined, description?: string): FunctionTool => ({
  kind: 'function',
  name: 'f',
  description,
  parameters,
});
const fit = (parameters: JsonObject | undefined, description?: string) => {
  const { parameters: schema, description: told } = withObjectInput(tool(parameters, description)) ?? {};
  return [schema, told];
};

await test('a schema without a type is one of objects, and one of something else is none', (t) => {
  const empty = { type: 'object', properties: {} };
  t.same(fit(undefined), [empty, undefined]);
  t.same(fit({}), [{ type: 'object' }, undefined]);
  t.same(fit({ properties: { a: text } }), [{ type: 'object', properties: { a: text } }, undefined]);
  t.same(fit({ type: ['object', 'null'], properties: {} }), [empty, undefined]);
  t.equal(withObjectInput(tool({ type: 'string' })), undefined);
  const plain = tool({ type: 'object', properties: { a: { anyOf: [text, { type: 'null' }] } } });
  t.equal(withObjectInput(plain), plain, 'unions further down stay');
  t.end();
});

await test('the members of a union at the top stand beside one another, and the union is told in words', (t) => {
  const anyOf = [{ required: ['a'] }, { properties: { b: text }, required: ['a', 'b'] }];
  const [schema, told] = fit({ type: 'object', properties: { a: text }, anyOf }, 'Does it.');
  t.same(schema, { type: 'object', properties: { a: text, b: text }, required: ['a'] });
  t.equal(told, `Does it.\n\nThe input matches this JSON Schema, too: ${JSON.stringify({ anyOf })}`);

  const kind = (word: string) => ({ type: 'object', properties: { kind: { const: word } }, required: ['kind'] });
  const [either] = fit({ oneOf: [kind('x'), kind('y'), kind('x')] });
  const kinds = { anyOf: [{ const: 'x' }, { const: 'y' }] };
  t.same(either, { type: 'object', properties: { kind: kinds }, required: ['kind'] });
  t.end();
});

await test('what all of several schemas say is said at once, references included', (t) => {
  const $defs = { base: { type: 'object', properties: { id: text }, required: ['id'] } };
  const own = { type: 'object', properties: { a: text }, required: ['a'] };
  const joined = { $defs, type: 'object', properties: { a: text, id: text }, required: ['a', 'id'] };
  t.same(fit({ ...own, $defs, allOf: [{ $ref: '#/$defs/base' }] }), [joined, undefined]);
  t.same(fit({ $ref: '#/$defs/base', $defs }), [{ $defs, ...$defs.base }, undefined]);
  const endless = { $ref: '#/$defs/loop', $defs: { loop: { allOf: [{ $ref: '#/$defs/loop' }] } } };
  t.same(fit(endless)[0], { $defs: endless.$defs, type: 'object', properties: {} });
  t.end();
});

await test('a tool that is strict for Anthropic stays so where OpenAI takes it', (t) => {
  const closed = { type: 'object', properties: { a: text }, required: ['a'], additionalProperties: false };
  const strictTools = (parameters: JsonObject) => {
    const request = { ...leastRequest, dialect: 'messages', tools: [{ ...tool(parameters), strict: true }] } as const;
    return [chatTranslation, responsesTranslation].map((dialect) => {
      const { losses, hints } = recordLosses();
      const [written] = dialect.writeRequest(request, { model: 'm', quirks: {} }, losses)['tools'] as JsonObject[];
      return [((written?.['function'] ?? written) as JsonObject)['strict'] ?? false, ...hints];
    });
  };
  t.same(strictTools(closed), [[true], [true]]);
  const lost = [false, 'tools.strict'];
  t.same(strictTools({ ...closed, required: [] }), [lost, lost], 'not all is required');
  t.same(strictTools({ ...closed, properties: { a: { anyOf: [{ ...closed, required: [] }] } } }), [lost, lost]);
  t.end();
});

await test('each server gets what it takes at the top', (t) => {
  const parameters = { $schema: 's', additionalProperties: false, anyOf: [{ properties: { a: text } }] };
  const tools = [tool(parameters)];
  const request = { ...leastRequest, dialect: 'messages', tools } as const;
  const { losses, meanings } = recordLosses();
  const target = { model: 'amazon.nova-lite-v1:0', quirks: {} };
  const joined = { type: 'object', properties: { a: text } };
  const rest = { $schema: 's', additionalProperties: false };
  const nova = { toolConfig: { tools: [{ toolSpec: { inputSchema: { json: joined } } }] } };
  t.match(bedrockTranslation.writeRequest(request, target, losses), nova);
  t.notMatch(bedrockTranslation.writeRequest(request, target, losses), {
    toolConfig: { tools: [{ toolSpec: { inputSchema: { json: { $schema: String } } } }] },
  });
  t.match(chatTranslation.writeRequest(request, target, losses)['tools'], [
    { function: { parameters: { ...joined, ...rest }, description: /anyOf/ } },
  ]);
  t.match(responsesTranslation.writeRequest(request, target, losses)['tools'], [
    { parameters: { ...joined, ...rest } },
  ]);
  bedrockTranslation.writeRequest({ ...request, tools: [tool({ type: 'array' })] }, target, losses);
  t.same(meanings, ['tools[0]: the input of its tools is an object']);
  t.end();
});

await test('of what references name, a bounded part is read', (t) => {
  const properties = { a: { description: 'x'.repeat(700_000) } };
  const $defs = { large: { properties }, other: { properties: { b: text } } };
  const large = { $ref: '#/$defs/large' };
  const [once] = fit({ $defs, anyOf: [large, { $ref: '#/$defs/other' }] });
  t.same(Object.keys((once as JsonObject)['properties'] as JsonObject), ['a', 'b']);
  const [twice] = fit({ $defs, anyOf: [large, large, { $ref: '#/$defs/other' }] });
  t.same(Object.keys((twice as JsonObject)['properties'] as JsonObject), ['a']);
  t.end();
});
