// The head of a part of a form, and the boundary of a form. Strict: what two readers could understand differently is refused, because a
// provider must see the model that was checked here.
import { refusal } from '../../errors.ts';

/** The facts of a part that its head tells. */
export interface PartHead {
  /** The name of the field. */
  readonly name: string;
  /** Its content is a text, as it stands. */
  readonly isText: boolean;
}

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const parameter = new RegExp(`[ \\t]*;[ \\t]*(${token})=(?:"([^"]*)"|(${token}))`, 'y');
const headerLine = new RegExp(`^(${token}):[ \\t]*(.*)$`, 's');
const boundaryText = /^[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]$/;
const multipart = /^multipart\/form-data[ \t]*(?=;|$)/i;
const plainText = /^text\/plain[ \t]*(?:;[ \t]*charset="?(?:utf-8|us-ascii)"?)?[ \t]*$/i;
const identity = /^(?:7bit|8bit|binary)$/i;

/** The boundary that the content type of a form names. Throws 415 `multipart_expected` where there is none. */
export function boundaryOf(contentType: string | undefined): string {
  const type = multipart.exec(contentType ?? '');
  if (contentType === undefined || type === null) throw refusal('multipart_expected');
  const boundary = parametersOf(contentType.slice(type[0].length))?.get('boundary');
  if (boundary === undefined || !boundaryText.test(boundary)) throw refusal('multipart_expected');
  return boundary;
}

/** Reads the head of a part, without the empty line at its end. Throws 400 `malformed_multipart`. */
export function readPartHead(block: string): PartHead {
  const headers = new Map<string, string>();
  for (const line of block.split('\r\n')) {
    const [, name = '', value = ''] = headerLine.exec(line) ?? [];
    if (name === '' || /[\0\r\n]/.test(value)) throw malformed('a line in the head of a part is no header');
    const folded = name.toLowerCase();
    if (headers.has(folded)) throw malformed('a header of a part stands there twice');
    headers.set(folded, value.trimEnd());
  }
  const [, rest] = /^form-data(.*)$/is.exec(headers.get('content-disposition') ?? '') ?? [];
  const parameters = rest === undefined ? undefined : parametersOf(rest);
  const name = parameters?.get('name');
  if (parameters === undefined || name === undefined || parameters.has('name*'))
    throw malformed('a part has no Content-Disposition that names its field');
  if (name.includes('\\')) throw malformed('the name of a field has a backslash');
  if (!identity.test(headers.get('content-transfer-encoding') ?? 'binary'))
    throw malformed('a part has a Content-Transfer-Encoding');
  const isFile = parameters.has('filename') || parameters.has('filename*');
  return { name, isText: !isFile && plainText.test(headers.get('content-type') ?? 'text/plain') };
}

export function malformed(reason: string): Error {
  return refusal('malformed_multipart', { fill: { reason } });
}

/** By their names in lower case; undefined: they are not well-formed, or one stands there twice. */
function parametersOf(text: string): ReadonlyMap<string, string> | undefined {
  const found = new Map<string, string>();
  let at = 0;
  for (;;) {
    parameter.lastIndex = at;
    const match = parameter.exec(text);
    if (match === null) break;
    const [whole, name = '', quoted, plain = ''] = match;
    const folded = name.toLowerCase();
    // Some readers take a quote behind a backslash for a part of the text, others for its end.
    if (found.has(folded) || quoted?.endsWith('\\')) return undefined;
    found.set(folded, quoted ?? plain);
    at += whole.length;
  }
  return /^[ \t]*;?[ \t]*$/.test(text.slice(at)) ? found : undefined;
}
