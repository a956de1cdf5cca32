// One part of a form in memory (RFC 7578): where its content stands.

export interface Span {
  readonly start: number;
  readonly end: number;
}

const boundaryForm = /^multipart\/form-data\s*;.*\bboundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i;
const lineEnd = '\r\n';
const headEnd = '\r\n\r\n';

/** The contents of the parts with this name; undefined when the type is no form. */
export function partsNamed(name: string, body: Buffer, contentType: string): readonly Span[] | undefined {
  const [, quoted, plain] = boundaryForm.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) return undefined;
  const delimiter = Buffer.from(`--${boundary}`);
  const found: Span[] = [];
  let at = body.indexOf(delimiter);
  while (at !== -1) {
    const head = at + delimiter.length;
    const next = body.indexOf(`${lineEnd}--${boundary}`, head);
    const content = body.indexOf(headEnd, head);
    if (next === -1 || content === -1 || content > next) break;
    const lines = body.toString('latin1', head, content);
    const start = content + headEnd.length;
    if (nameIn(lines) === name) found.push({ start, end: Math.max(start, next) });
    at = next + lineEnd.length;
  }
  return found;
}

/** The name of a part. */
function nameIn(lines: string): string | undefined {
  const disposition = /^content-disposition:(.*)$/im.exec(lines)?.[1];
  const [, quoted, plain] = /;\s*name=(?:"([^"]*)"|([^\s;]+))/i.exec(disposition ?? '') ?? [];
  return quoted ?? plain;
}
