// A program that runs inside the proxy and makes its steps fail: the product has no way to ask for an unexpected exception.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The text of an error that must never reach a client. */
export const canary = 'broken on purpose, with a secret in it';

/** Makes one thing fail that one step uses, for requests that ask for it, once each. */
export const saboteur = `
import { IncomingMessage, ServerResponse } from 'node:http';
import { Client } from ${JSON.stringify(import.meta.resolve('undici'))};
import { Limiter } from ${JSON.stringify(pathToFileURL(resolve(import.meta.dirname, '../../proxy/limits/limiter.ts')).href)};

const seen = new Set();
const isNew = (id) => !seen.has(id) && seen.add(id) !== undefined;
function breakWhen(holder, name, isDue) {
  const original = holder[name];
  holder[name] = function (...given) {
    if (isDue.call(this, ...given)) throw new TypeError(${JSON.stringify(canary)});
    return original.apply(this, given);
  };
}
const asked = (response, wanted) => response.req?.headers['x-request-id']?.startsWith(wanted) && response.req.headers['x-request-id'];

breakWhen(WeakMap.prototype, 'set', (_, value) => value?.userPath === '/break-authenticate');
breakWhen(IncomingMessage.prototype, 'on', function (event) {
  const id = this.headers['x-request-id'];
  return event === 'data' && id?.startsWith('break-receive') && isNew(id);
});
breakWhen(JSON, 'parse', (text) => text === '"break-read\\\\u0021"');
breakWhen(Map.prototype, 'get', (key) => key === 'break-resolve' && isNew(key));
breakWhen(Limiter.prototype, 'forUserPath', (path) => path === '/break-admit');
breakWhen(Limiter.prototype, 'forTarget', (_, model) => model === 'break-target');
breakWhen(Client.prototype, 'dispatch', ({ headers }) => JSON.stringify(headers).includes('break-dispatch'));
breakWhen(ServerResponse.prototype, 'writeHead', function () {
  const id = asked(this, 'break-relay');
  return id && isNew(id);
});
breakWhen(ServerResponse.prototype, 'write', function (bytes) {
  return asked(this, 'break-stream') && String(bytes).includes('second');
});
breakWhen(ServerResponse.prototype, 'end', function () {
  const id = asked(this, 'break-end');
  return id && isNew(id);
});
`;
