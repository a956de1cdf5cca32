// The format of chat completions (OpenAI): what clients speak already, so a body passes as it is but for the model's name.
import { scanObject } from '../../bytes/scan.ts';
import { type Edit, splice } from '../../bytes/splice.ts';
import type { Call } from '../../call/call.ts';
import type { Dialect, DialectTarget, Operation, UpstreamRequest } from '../dialect.ts';
import { readError } from './read-error.ts';
import { readModels } from './read-models.ts';
import { StreamTap } from './stream-tap.ts';

const paths: Record<Operation, string> = { chat: '/chat/completions', embeddings: '/embeddings' };

/** Chat completions: OpenAI and everything compatible with it. */
export const chat: Dialect = {
  headers(apiKey) {
    const authorization = apiKey === undefined ? [] : ['authorization', `Bearer ${apiKey}`];
    // Identity, because usage is read from the answer and bytes are relayed unchanged.
    return [...authorization, 'content-type', 'application/json', 'accept-encoding', 'identity'];
  },

  request(operation, call, target, wantUsage): UpstreamRequest {
    const injectedUsage = wantUsage && canInject(operation, call, target);
    const model: Edit = { start: call.modelStart, end: call.modelEnd, bytes: target.modelJson };
    if (!injectedUsage) return { path: paths[operation], body: splice(call.body, [model]), injectedUsage };
    const usage = usageEdit(call);
    const edits = model.start < usage.start ? [model, usage] : [usage, model];
    return { path: paths[operation], body: splice(call.body, edits), injectedUsage };
  },

  watchStream: (options) => new StreamTap(options),
  readError,
  modelsPath: '/models',
  readModels,
};

function canInject(operation: Operation, call: Call, target: DialectTarget): boolean {
  if (operation !== 'chat' || !call.stream || call.wantsUsage || !target.upstream.streamUsage) return false;
  const options = call.streamOptions;
  // A value of another type is the client's mistake; the provider shall see and refuse it.
  return options === undefined || '{n'.includes(String.fromCharCode(call.body[options.valueStart] ?? 0));
}

const asked = '"include_usage":true';
const askedOption = Buffer.from(`,"stream_options":{${asked}}`);

/** Puts `include_usage` in force with the fewest changed bytes. */
function usageEdit({ body, streamOptions }: Call): Edit {
  if (streamOptions === undefined) {
    // Before the brace that closes the body, which never is the first member's: the body has a model.
    const end = body.lastIndexOf(0x7d);
    return { start: end, end, bytes: askedOption };
  }
  const { valueStart: start, valueEnd: end } = streamOptions;
  if (body[start] === 0x6e) return { start, end, bytes: Buffer.from(`{${asked}}`) };
  const options = scanObject(body.subarray(start, end));
  const given = options.findLast(({ keyStart, keyEnd }) => {
    const key = body.toString('utf8', start + keyStart, start + keyEnd);
    return (key.includes('\\') ? JSON.parse(`"${key}"`) : key) === 'include_usage';
  });
  if (given) return { start: start + given.valueStart, end: start + given.valueEnd, bytes: Buffer.from('true') };
  const separator = options.length === 0 ? '' : ',';
  return { start: start + 1, end: start + 1, bytes: Buffer.from(asked + separator) };
}
