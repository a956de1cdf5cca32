// Every method on every path with every content type, with a body and without: each combination has one right answer, and none is 500.
import { Agent, type IncomingMessage, METHODS, request } from 'node:http';
import { t as suite, test } from 'tap';
import { isFull } from '../support/extent.ts';
import { rawRequest } from '../support/raw-http.ts';
import { authorization, chatCall, head, startStand } from './raw-cases.ts';

/** What is served where; a path that is not here is served nowhere. */
const served: Readonly<Record<string, readonly string[]>> = {
  '/': ['GET', 'HEAD'],
  '/v1': ['GET', 'HEAD'],
  '/health': ['GET', 'HEAD'],
  '/health/ready': ['GET', 'HEAD'],
  '/metrics': ['GET', 'HEAD'],
  '/v1/models': ['GET', 'HEAD'],
  '/v1/models/fake-small': ['GET', 'HEAD'],
  '/v1/usage': ['GET', 'HEAD'],
  '/v1/chat/completions': ['POST'],
  '/v1/completions': ['POST'],
  '/v1/responses': ['POST'],
  '/v1/messages': ['POST'],
  '/v1/messages/count_tokens': ['POST'],
  '/v1/embeddings': ['POST'],
  '/v1/moderations': ['POST'],
};
const nowhere = ['/v1/nope', '/nope'];
const contentTypes = [undefined, '', 'text/plain; charset=;;', 'application/json'];
const bodies = [undefined, '{}'];

/** The server of node answers CONNECT by closing the connection. */
const allMethods = METHODS.filter((method) => method !== 'CONNECT');
/** With these a short run tries every content type and body; with each other method a bare request and a whole one. */
const usualMethods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'];

function variantsOf(method: string): { contentType: string | undefined; body: string | undefined }[] {
  const all = contentTypes.flatMap((contentType) => bodies.map((body) => ({ contentType, body })));
  return isFull || usualMethods.includes(method)
    ? all
    : all.filter((_, index) => index === 0 || index === all.length - 1);
}

suite.setTimeout(240_000);
const stand = await startStand(suite, {});

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

/** The status and the code of the answer. */
function expected(method: string, path: string, contentType: string | undefined, body: string | undefined): string {
  const methods = served[path];
  if (methods === undefined) return '404 route_not_found';
  if (!methods.includes(method)) return '405 method_not_allowed';
  if (method !== 'POST') return body === undefined ? '200' : '400 unexpected_body';
  if (contentType !== 'application/json') return '415 unsupported_media_type';
  return body === undefined ? '400 invalid_json' : '400 invalid_model';
}

function said({ status, text }: Answer, method: string): string {
  if (status === 200) return '200';
  if (method === 'HEAD') return `${status}`;
  try {
    return `${status} ${(JSON.parse(text) as { error: { code: string } }).error.code}`;
  } catch {
    return `${status} ${text.slice(0, 100)}`;
  }
}

await test('methods, paths, content types and bodies', async (t) => {
  const { gateway } = stand;
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  t.teardown(() => agent.destroy());
  const ask = (method: string, path: string, contentType: string | undefined, body: string | undefined) =>
    new Promise<Answer>((done, fail) => {
      const headers: Record<string, string> = { authorization: authorization.slice('Authorization: '.length) };
      if (contentType !== undefined) headers['content-type'] = contentType;
      if (body !== undefined) headers['content-length'] = String(body.length);
      const asked = request({ port: gateway.port, host: '127.0.0.1', method, path, headers, agent }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (more: string) => {
          text += more;
        });
        response.on('end', () => done({ status: response.statusCode ?? 0, headers: response.headers, text }));
        response.on('error', fail);
      });
      asked.on('error', fail);
      asked.end(body);
    });

  const wrong: string[] = [];
  let count = 0;
  const checkOne = async (method: string, path: string, contentType?: string, body?: string): Promise<void> => {
    const answer = await ask(method, path, contentType, body);
    count += 1;
    const shown = `${method} ${path} (${contentType}) ${body}`;
    const right = expected(method, path, contentType, body);
    const came = said(answer, method);
    if (came !== (method === 'HEAD' ? right.slice(0, 3) : right)) wrong.push(`${shown}: ${came} instead of ${right}`);
    if (answer.headers['x-content-type-options'] !== 'nosniff') wrong.push(`${shown}: no nosniff`);
    if (answer.status === 405 && answer.headers.allow !== served[path]?.join(', ')) wrong.push(`${shown}: no Allow`);
  };
  const checks = allMethods.flatMap((method) =>
    [...Object.keys(served), ...nowhere].flatMap((path) =>
      variantsOf(method).map(
        ({ contentType, body }) =>
          () =>
            checkOne(method, path, contentType, body),
      ),
    ),
  );
  const workers = Array.from({ length: 8 }, async () => {
    for (let next = checks.pop(); next !== undefined; next = checks.pop()) await next();
  });
  await Promise.all(workers);
  t.comment(`${count} combinations`);
  t.same(wrong.slice(0, 20), [], 'each is answered as it should be');

  for (const method of ['POST', 'QUERY', 'PROPFIND', 'DELETE']) {
    for (const contentType of ['', ';;']) {
      const { status, headers } = await ask(method, '/admin/x', contentType, '{}');
      t.ok(status < 500, `${method} /admin/x: ${status}`);
      t.equal(headers['x-content-type-options'], 'nosniff');
    }
  }
  t.notMatch(gateway.process.stdout.join('\n'), /unexpected failure|"level":"(error|fatal)"/);
});

await test('answers of providers, and those to what is no HTTP, are not to be sniffed either', async (t) => {
  const { gateway, upstream } = stand;
  const stream = '{"model":"fake-small","stream":true,"messages":[]}';
  for (const send of [chatCall(), chatCall(stream), 'nonsense\r\n\r\n']) {
    const { responses } = await rawRequest(gateway.port, send);
    t.equal(responses[0]?.header('x-content-type-options'), 'nosniff');
  }
  await upstream.behave({ kind: 'error', status: 400 });
  const refused = await rawRequest(gateway.port, chatCall());
  t.equal(refused.responses[0]?.status, 400);
  t.equal(refused.responses[0]?.header('x-content-type-options'), 'nosniff');
});

await test('a body on a route that takes none: refused and closed, unless it is empty', async (t) => {
  const { gateway } = stand;
  const line = 'GET /health HTTP/1.1';
  const host = 'Host: gateway.test';
  const next = head(line, host);
  const empty = [head(line, host, 'Content-Length: 0'), `${head(line, host, 'Transfer-Encoding: chunked')}0\r\n\r\n`];
  for (const bytes of empty) {
    const { responses } = await rawRequest(gateway.port, [bytes, next], { until: 2 });
    t.same(
      responses.map(({ status }) => status),
      [200, 200],
    );
  }
  const refused = [
    `${head(line, host, 'Content-Length: 2')}{}`,
    head(line, host, 'Content-Length: 2', 'Expect: 100-continue'),
    `${head(line, host, 'Transfer-Encoding: chunked')}2\r\n{}\r\n0\r\n\r\n`,
    `${head(line, host, 'Transfer-Encoding: chunked')}2\r\n{}\r\n`,
  ];
  for (const bytes of refused) {
    const { responses, closedByServer } = await rawRequest(gateway.port, bytes, { until: 'close' });
    t.same(
      responses.map(({ status }) => status),
      [400],
    );
    t.match(responses[0]?.json(), { error: { code: 'unexpected_body', message: /takes no body/ } });
    t.ok(closedByServer);
  }
});
