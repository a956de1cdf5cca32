// GET /admin/mirrors: pairs of models in a span, in the words of the API description, for operators of the whole gateway.
import { t as suite, test } from 'tap';
import { asTeam, dayMs, record, start, startRecordsPlane } from './records-plane.ts';

const plane = await startRecordsPlane(suite);
const answer = {
  status_code: 200,
  success: true,
  duration_ns: 2_000,
  first_byte_ns: 500,
  input_tokens: 30,
  output_tokens: 12,
};
const compared = (startedMs: number, similarity?: number) => {
  const { data: _, ...asked } = record({
    started_ms: startedMs,
    user_path: '/mirror',
    asked_by: 'gateway',
    attempts: [],
  });
  const pair = {
    alias: 'chat',
    stream: true,
    primary: { ...answer, model: 'a/big', cost: 420_000 },
    mirror: { ...answer, model: 'b/small', cost: null, success: similarity !== undefined },
  };
  return { ...asked, counts_as: 'nothing' as const, mirror: similarity === undefined ? pair : { ...pair, similarity } };
};
await plane.add([compared(start - 1_000, 0.5), compared(start), compared(start - 40 * dayMs, 1)]);

await test('both answers of a pair side by side', async (t) => {
  const { body } = await plane.ask('/mirrors');
  t.match(body, { start_date: '2026-02-14', end_date: '2026-03-15', time_zone: 'UTC', truncated: false });
  t.same(body['mirrors'], [
    {
      alias: 'chat',
      requests: 2,
      first_at: '2026-03-15T11:59:59.000Z',
      last_at: '2026-03-15T12:00:00.000Z',
      primary: {
        model: 'a/big',
        succeeded: 2,
        success_rate: 1,
        duration_p50_ns: 2_000,
        duration_p95_ns: 2_000,
        first_byte_p50_ns: 500,
        first_byte_p95_ns: 500,
        input_tokens: 60,
        output_tokens: 24,
        total_cost: 0.00084,
        unpriced_requests: 0,
      },
      mirror: {
        model: 'b/small',
        succeeded: 1,
        success_rate: 0.5,
        duration_p50_ns: 2_000,
        duration_p95_ns: 2_000,
        first_byte_p50_ns: 500,
        first_byte_p95_ns: 500,
        input_tokens: 60,
        output_tokens: 24,
        total_cost: null,
        unpriced_requests: 2,
      },
      compared: 1,
      similarity: 0.5,
    },
  ]);
  t.match((await plane.ask('/mirrors?days=60')).body['mirrors'], [{ requests: 3 }]);
  t.same((await plane.ask('/mirrors?minutes=5')).body['mirrors'], body['mirrors']);
});

await test('who sees a part of the gateway alone, and asks for what is no time, is refused', async (t) => {
  t.equal((await plane.ask('/mirrors', asTeam)).status, 403);
  t.match(await plane.ask('/mirrors?days=0'), { status: 400, body: { code: 'invalid_query' } });
  t.match(await plane.ask('/mirrors?alias=chat'), { status: 400, body: { code: 'invalid_query' } });
});
