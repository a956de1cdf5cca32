// Plays an identity provider on loopback: it publishes its public keys, and signs a token for whoever asks. A real one asks who that is.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';

const port = Number(process.env['IDENTITY_EXAMPLE_PORT'] ?? 8263);
const lifeSeconds = 300;

const keys: JWK[] = [];
let sign: (claims: Record<string, unknown>) => Promise<string> = () => Promise.reject(new Error('there is no key yet'));

/** Signs with a new key from now on; tokens of the one before hold until their end. */
async function rotate(): Promise<string> {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const kid = `key-${keys.length + 1}`;
  keys.push({ ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' });
  sign = (claims) => new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid }).sign(privateKey);
  return kid;
}

/** `/token?email=ann@example.com&groups=team-a,staff`: a token with these claims. */
function tokenFor(query: URLSearchParams, issuer: string): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const { email = 'ann@example.com', groups = 'team-a', ...others } = Object.fromEntries(query);
  return sign({
    iss: issuer,
    aud: 'model-gateway',
    sub: email.split('@')[0],
    iat: now,
    exp: now + lifeSeconds,
    email,
    groups: groups.split(','),
    ...others,
  });
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const issuer = `http://${request.headers.host}`;
  const { pathname, searchParams } = new URL(request.url ?? '/', issuer);
  if (pathname === '/.well-known/openid-configuration')
    response.end(JSON.stringify({ issuer, jwks_uri: `${issuer}/keys` }));
  else if (pathname === '/keys') response.end(JSON.stringify({ keys }));
  else if (pathname === '/token') response.end(await tokenFor(searchParams, issuer));
  else if (pathname === '/rotate') response.end(`${await rotate()}\n`);
  else response.writeHead(404).end();
}

await rotate();
const server = createServer((request, response) => void answer(request, response));
server.listen(port, '127.0.0.1', () => {
  const address = server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  process.stdout.write(`The issuer is played at http://127.0.0.1:${bound}\n`);
});
