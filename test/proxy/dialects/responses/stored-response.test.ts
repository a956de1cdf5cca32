// Responses kept by the gateway: what is kept, how items are listed page by page, and how a conversation goes on.
import { test } from 'tap';
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';
import {
  deletedResponse,
  listInputItems,
  type StoredResponse,
  storedResponse,
  withPrevious,
} from '../../../../proxy/dialects/responses/stored-response.ts';
import { responsesTranslation } from '../../../../proxy/dialects/responses/translate.ts';
import { InvalidRequest } from '../../../../proxy/dialects/translation.ts';
import { atOnce } from '../../../../proxy/pacing/slices.ts';

const response: JsonObject = {
  id: 'resp_1',
  instructions: 'Be kind.',
  output: [{ id: 'msg_9', type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] }],
};

function counting(): () => string {
  let count = 0;
  return () => {
    count += 1;
    return String(count);
  };
}

function record(body: JsonObject): StoredResponse {
  return atOnce(storedResponse(body, response, counting())) ?? { response: {}, input_items: [] };
}

await test('a record has the response and every item with an id', async (t) => {
  t.same(record({ input: 'Hi' }), {
    response,
    input_items: [
      {
        status: 'completed',
        type: 'message',
        role: 'user',
        content: [{ type: 'input_text', text: 'Hi' }],
        id: 'msg_1',
      },
    ],
  });
  const { input_items } = record({
    input: [
      { role: 'assistant', content: 'Hello' },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: '1', id: 'fco_own' },
      { type: 'constructor' },
    ],
  });
  t.same(
    input_items.map(({ id }) => id),
    ['msg_1', 'fc_2', 'fco_own', 'item_3'],
  );
  t.match(input_items[0], { type: 'message', content: [{ type: 'output_text', text: 'Hello' }] });
  t.equal(atOnce(storedResponse({ input: 'Hi', store: false }, response, counting())), undefined);
});

await test('items are listed page by page, the newest first', async (t) => {
  const stored = record({ input: Array.from({ length: 25 }, (_, index) => ({ role: 'user', content: `${index}` })) });
  const list = (query: string): JsonObject => listInputItems(stored, new URLSearchParams(query));
  const ids = (query: string): unknown => (list(query)['data'] as JsonObject[]).map(({ id }) => id);
  t.match(list(''), { object: 'list', first_id: 'msg_25', last_id: 'msg_6', has_more: true });
  t.same(ids('limit=2&order=asc'), ['msg_1', 'msg_2']);
  t.same(ids('limit=2&order=asc&after=msg_2'), ['msg_3', 'msg_4']);
  t.match(list('after=msg_6'), { first_id: 'msg_5', last_id: 'msg_1', has_more: false });
  t.match(list('after=msg_1'), { data: [], first_id: null, last_id: null, has_more: false });
  t.match(list('limit=25'), { has_more: false });
  const wrong = { limit: ['0', '101', '-1', '1.5', '1e1', ''], order: ['up', ''], after: ['msg_99', ''] };
  for (const [param, values] of Object.entries(wrong)) {
    for (const value of values) {
      try {
        list(`${param}=${value}`);
        t.fail(`${param}=${value} was taken`);
      } catch (error) {
        t.equal(error instanceof InvalidRequest && error.param, param, `${param}=${value}`);
      }
    }
  }
});

await test('a conversation goes on from what was asked and answered, without the old instructions', async (t) => {
  const first = record({ input: 'Hi', instructions: 'Be kind.' });
  const body = withPrevious(
    { model: 'm', previous_response_id: 'resp_1', input: 'More', instructions: 'Be brief.' },
    first,
  );
  t.notOk('previous_response_id' in body);
  const { system, turns } = responsesTranslation.readRequest(body);
  t.match(system, [{ text: 'Be brief.' }]);
  t.equal(system.length, 1);
  t.match(turns, [
    { role: 'user', parts: [{ text: 'Hi' }] },
    { role: 'assistant', parts: [{ text: 'Hello' }] },
    { role: 'user', parts: [{ text: 'More' }] },
  ]);
  const second = record(body);
  t.equal(second.input_items.length, 3, 'the next record holds the whole conversation');
  t.same((withPrevious({ input: [{ role: 'user', content: 'a' }] }, first)['input'] as unknown[]).length, 3);
  t.throws(
    () => responsesTranslation.readRequest(withPrevious({ input: 7 }, first)),
    new InvalidRequest('input[2]', 'must be an object'),
  );
});

await test('a deleted response is told', async (t) => {
  t.same(deletedResponse('resp_1'), { id: 'resp_1', object: 'response.deleted', deleted: true });
});
