// What of a request is the client's own credential for a provider, and what never is.
import { test } from 'tap';
import { credentialsOf } from '../../domain/keys/credentials.ts';
import { digestOf } from '../../domain/keys/secret.ts';
import { credentialFor, upstreamWith } from '../../proxy/snapshot/client-credential.ts';
import { compileUpstream } from '../../proxy/snapshot/compile-upstream.ts';
import { ProviderKeys } from '../../proxy/upstream/api-keys.ts';
import { sampleConfig } from './sample-config.ts';

const gatewayKey = 'sk-gw-of-the-gateway-0123456789';
const masterKey = 'the-master-key-0123456789';
const ownIssuers = new Set(['https://login.example.com']);
const credentials = credentialsOf(digestOf(masterKey), []);
const snapshot = { credentials, gatewayKeyHeader: 'x-gateway-key', ownIssuers };
const tokenOf = (iss: string): string =>
  `eyJhbGciOiJub25lIn0.${Buffer.from(JSON.stringify({ iss })).toString('base64url')}.c2ln`;

function upstreamOf(type: 'anthropic' | 'openai', headers: Record<string, string> = {}) {
  const { own } = sampleConfig({ providers: { own: { type, auth: 'client', headers } } }).providers;
  if (own === undefined) throw new Error('there is no provider');
  return compileUpstream('own', own, { formerKeys: [], authorities: undefined }, new ProviderKeys());
}

/** The headers of the credential. */
function sent(rawHeaders: string[], type: 'anthropic' | 'openai' = 'openai', key: string | undefined = gatewayKey) {
  const exchange = { head: { gatewayKey: key }, request: { rawHeaders } };
  return credentialFor(upstreamOf(type), { exchange, snapshot })?.headers;
}

await test('without a key of the gateway in its own header nothing is the own credential of the client', async (t) => {
  const exchange = { head: { gatewayKey: undefined }, request: { rawHeaders: ['Authorization', 'Bearer abc'] } };
  t.equal(credentialFor(upstreamOf('openai'), { exchange, snapshot }), undefined);
  t.same(sent(['Authorization', 'Bearer abc']), ['authorization', 'Bearer abc']);
});

await test('a key of the gateway, an empty header and one of the connection are none', async (t) => {
  for (const secret of [gatewayKey, masterKey, 'sk-gw-revoked', tokenOf('https://login.example.com')]) {
    t.equal(sent(['Authorization', `Bearer ${secret}`]), undefined);
    t.equal(sent(['x-api-key', secret]), undefined);
  }
  const token = tokenOf('https://vendor.example');
  t.same(sent(['Authorization', `Bearer ${token}`]), ['authorization', `Bearer ${token}`]);
  t.equal(sent(['Authorization', '', 'Cookie', 'a=b', 'Proxy-Authorization', 'Basic abc']), undefined);
  t.equal(sent(['Connection', 'keep-alive, Authorization', 'Authorization', 'Bearer abc']), undefined);
  t.same(sent(['Authorization', `Bearer ${masterKey}`, 'X-Api-Key', 'k']), ['x-api-key', 'k']);
});

await test('a credential of Anthropic goes to no other type of provider', async (t) => {
  const headers = ['Authorization', 'Bearer sk-ant-oat01-abc'];
  t.same(sent(headers, 'anthropic'), ['authorization', 'Bearer sk-ant-oat01-abc']);
  t.equal(sent(headers, 'openai'), undefined);
});

await test('an upstream with it masks it, and sends what belongs to it; what is configured is not replaced', async (t) => {
  const upstream = upstreamOf('openai', { 'User-Agent': 'gateway' });
  const rawHeaders = [
    'Authorization',
    'Bearer abcdefghijkl',
    'ChatGPT-Account-Id',
    'acc',
    'User-Agent',
    'codex',
    'X-Else',
    'b',
  ];
  const credential = credentialFor(upstream, { exchange: { head: { gatewayKey }, request: { rawHeaders } }, snapshot });
  if (credential === undefined) throw new Error('it has none');
  const own = upstreamWith(upstream, credential);
  const wanted = ['User-Agent', 'gateway', 'authorization', 'Bearer abcdefghijkl', 'chatgpt-account-id', 'acc'];
  t.same(own.headers, wanted);
  t.same(own.secrets, ['Bearer abcdefghijkl', 'abcdefghijkl']);
  t.same(own.speechesOf('m').chat?.speaker.secrets, own.secrets);
  t.match(own.credentials.all, [{ secret: undefined, mark: '' }]);
  t.notMatch(JSON.stringify([upstream.headers, upstream.secrets, upstream.credentials.all]), 'abcdefghijkl');
});
