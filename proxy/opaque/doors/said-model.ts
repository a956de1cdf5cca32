// Which model the body of a request that is passed on asks, where that must be known before anything is sent: it is read on, unpacked, and
// searched as JSON, as a form, and as the fields of a page. Its bytes are sent as they came.
import { type Call, readAnyCall, readCall, routesElsewhere } from '../../call/call.ts';
import { Refusal, refusal } from '../../errors.ts';
import type { OpaqueBody } from '../../upstream/send-opaque.ts';
import type { Knock } from '../door.ts';
import { MultipartBody } from '../forms/multipart-body.ts';
import { MultipartScanner } from '../forms/multipart-scanner.ts';
import { boundaryOf } from '../forms/part-head.ts';
import { encodingOf, unpack } from '../unpack-body.ts';
import { wholeBody } from '../whole-body.ts';
import type { ModelContract } from './model-of-path.ts';
import { opensJson } from './opens-json.ts';

/** The model and the place that a body names. */
export interface Said {
  /** Undefined: it names no model. */
  readonly model: string | undefined;
  readonly stream: boolean;
  /** The first member or field that may make a provider go elsewhere. */
  readonly routingMember: string | undefined;
}

/** A body that was searched. */
export interface Searched extends Said {
  /** The plain text of it; undefined: it streams. */
  readonly text: Buffer | undefined;
  /** The body for a target. `mayRoute`: members and fields may make the provider go elsewhere. */
  readonly body: (mayRoute: boolean) => OpaqueBody;
}

/** Most bytes of a form that are held until its model comes, where `server.body_limit` is not smaller. */
export const mostHeldOfForm = 32 * 1024 * 1024;
/** Longest fields of a page: they are read at once. Bytes. */
const mostFields = 32 * 1024;
const setting = 'server.body_limit';
const form = /^multipart\/form-data\b/i;
const fields = /^application\/x-www-form-urlencoded\b/i;
const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i;
const readable: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii']);
const nothing: Said = { model: undefined, stream: false, routingMember: undefined };

/**
 * Reads the model and its place in the body. `contract`: the place of the model at this endpoint; undefined: unknown,
 * and there may be none. Rejects with a Refusal for a body that two readers could understand differently, and at a
 * known endpoint for one that names no model: 400 `invalid_json`, `invalid_model`, `duplicate_key`,
 * `malformed_multipart` and `model_too_late`, 413 `body_too_large`, 415 `unsupported_media_type` and
 * `unsupported_encoding`, 503 `overloaded`.
 */
export async function searchBody(knock: Knock, contract: ModelContract | undefined): Promise<Searched> {
  const { exchange, held, snapshot } = knock;
  const { contentType = '' } = exchange.head;
  const encoding = encodingOf(exchange.head.contentEncoding);
  const isForm = form.test(contentType);
  if (isForm && contract === 'json') throw refusal('unsupported_media_type');
  if (isForm && encoding === undefined && knock.short === undefined) return searchForm(knock, contract);
  const limit = { bytes: snapshot.bodyLimitBytes, setting };
  const sent = await wholeBody(knock, limit);
  const text =
    encoding === undefined ? sent : await unpack(sent, encoding, limit, (bytes) => held.grow(sent.length + bytes));
  const said = isForm ? saidInForm(text, contentType) : await saidInText(text, contentType, contract);
  if (contract !== undefined && said.model === undefined) throw refusal('invalid_model', { param: 'model' });
  return { ...said, text, body: () => sent };
}

/** A form streams as soon as its model is known. */
async function searchForm(knock: Knock, contract: ModelContract | undefined): Promise<Searched> {
  const { exchange, body, held, snapshot } = knock;
  const holding = { mostBytes: Math.min(mostHeldOfForm, snapshot.bodyLimitBytes), held };
  const parts = new MultipartBody(body, boundaryOf(exchange.head.contentType), holding);
  // When the client has its answer, or has left, the rest is not needed.
  exchange.response.once('close', () => parts.destroy());
  const model = (await parts.found)?.model;
  if (contract !== undefined && model === undefined) throw refusal('invalid_model', { param: 'model' });
  return {
    model,
    stream: false,
    routingMember: parts.routingField,
    text: undefined,
    body: (mayRoute) => parts.send({ mayRoute, isKept: false }),
  };
}

function saidInForm(text: Buffer, contentType: string): Said {
  let routingMember: string | undefined;
  const scanner = new MultipartScanner(boundaryOf(contentType), (field) => {
    const [name = ''] = field.trim().split(/[[.]/);
    if (routesElsewhere(name)) routingMember ??= name;
  });
  scanner.push(text);
  scanner.end();
  return { model: scanner.model?.model, stream: false, routingMember };
}

async function saidInText(text: Buffer, contentType: string, contract: ModelContract | undefined): Promise<Said> {
  const named = charset.exec(contentType)?.[1]?.toLowerCase();
  if (named !== undefined && !readable.has(named)) throw refusal('unsupported_media_type');
  if (contract === undefined && fields.test(contentType)) return saidInFields(text);
  try {
    return await readAnyCall(text);
  } catch (error) {
    if (contract === undefined && namesNone(error, text)) return nothing;
    throw error;
  }
}

/** Where there may be no model: an object without one, and what is no JSON at all. */
function namesNone(error: unknown, text: Buffer): boolean {
  if (!(error instanceof Refusal)) return false;
  return error.code === 'invalid_model' || (error.code === 'invalid_json' && !opensJson(text));
}

function saidInFields(text: Buffer): Said {
  if (text.length > mostFields) throw refusal('body_too_large', { fill: { limit: mostFields, setting: '' } });
  const found = new URLSearchParams(text.toString());
  const models = [...found].flatMap(([name, value]) => (name.trim().toLowerCase() === 'model' ? [value] : []));
  if (models.length > 1) throw refusal('duplicate_key', { param: 'model', fill: { key: 'model' } });
  const routingMember = [...found.keys()].find((name) => routesElsewhere(name));
  return { model: models[0], stream: false, routingMember };
}

/** The model in a short body, where nothing depends on it; an unreadable body names none. Throws where two readers may read different models. */
export function saidInShort(body: Buffer, contentEncoding: string | undefined): Call | undefined {
  if (encodingOf(contentEncoding) !== undefined) return undefined;
  try {
    return readCall(body);
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === 'duplicate_key') throw error;
    return undefined;
  }
}
