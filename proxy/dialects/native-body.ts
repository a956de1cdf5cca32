// The body for a provider that speaks the client's own dialect: the client's bytes but for the model's name, and the option that asks for usage.
import { scanObject } from '../bytes/scan.ts';
import { type Edit, splice } from '../bytes/splice.ts';
import type { Call } from '../call/call.ts';

/** The client's bytes, as far as they were read. */
export type NativeCall = Pick<Call, 'body' | 'modelStart' | 'modelEnd' | 'stream' | 'streamOptions' | 'wantsUsage'>;

export interface NativeBody {
  readonly body: Buffer;
  /** The usage event of the stream exists only because the gateway asked for it. */
  readonly injectedUsage: boolean;
}

/**
 * Puts the model's id at the provider (as the bytes of a JSON string) in the place of the client's name for it. `asksUsage`: the gateway counts
 * tokens, and the provider accepts `stream_options` here. `further`: what else changes.
 */
export function nativeBody(
  call: NativeCall,
  modelJson: Buffer,
  asksUsage: boolean,
  further: readonly Edit[] = [],
): NativeBody {
  const injectedUsage = asksUsage && canInject(call);
  const model: Edit = { start: call.modelStart, end: call.modelEnd, bytes: modelJson };
  if (!injectedUsage && further.length === 0) return { body: splice(call.body, [model]), injectedUsage };
  const edits = [model, ...(injectedUsage ? [usageEdit(call)] : []), ...further];
  edits.sort((one, other) => one.start - other.start);
  return { body: splice(call.body, edits), injectedUsage };
}

function canInject({ body, stream, wantsUsage, streamOptions: options }: NativeCall): boolean {
  if (!stream || wantsUsage) return false;
  // A value of another type is the client's mistake; the provider shall see and refuse it.
  return options === undefined || '{n'.includes(String.fromCharCode(body[options.valueStart] ?? 0));
}

const asked = '"include_usage":true';
const askedOption = Buffer.from(`,"stream_options":{${asked}}`);

/** Puts `include_usage` in force with the fewest changed bytes. */
function usageEdit({ body, streamOptions }: NativeCall): Edit {
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
