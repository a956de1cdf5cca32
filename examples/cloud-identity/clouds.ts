// Plays AWS and Google on loopback: what gives credentials that end soon, a Bedrock and a Vertex that take no others, and what each team has cost.
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

/** What a cluster would write into the file of a pod. */
const subjectToken = readFileSync(new URL('subject-token', import.meta.url), 'utf8');
const port = Number(process.env['CLOUDS_EXAMPLE_PORT'] ?? 8243);
/** Real ones give at least 15 minutes. */
const lifeMs = Number(process.env['CLOUDS_EXAMPLE_LIFE_SECONDS'] ?? 20) * 1000;

interface Session {
  readonly team: string;
  readonly endsAtMs: number;
}

/** The sessions of the role, by their tokens. */
const sessions = new Map<string, Session>();
/** When the tokens of Google end. */
const tokens = new Map<string, number>();
/** Calls by team. */
const bill: Record<string, number> = {};
let isDown = false;

function assumeRole(form: URLSearchParams, response: ServerResponse): void {
  if (isDown) {
    response.writeHead(503).end();
    return;
  }
  const token = `example-session-token-${sessions.size + 1}`;
  const team = form.get('Tags.member.1.Value') ?? 'nobody';
  const endsAtMs = Date.now() + lifeMs;
  sessions.set(token, { team, endsAtMs });
  process.stdout.write(`STS: ${form.get('RoleArn')} for ${team}\n`);
  response.end(`<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
    <AccessKeyId>ASIAEXAMPLE000000000</AccessKeyId><SecretAccessKey>example-secret</SecretAccessKey>
    <SessionToken>${token}</SessionToken><Expiration>${new Date(endsAtMs).toISOString()}</Expiration>
  </Credentials></AssumeRoleResult></AssumeRoleResponse>`);
}

function converse({ headers }: IncomingMessage, response: ServerResponse): void {
  const session = sessions.get(String(headers['x-amz-security-token']));
  if (session === undefined || session.endsAtMs < Date.now()) {
    response.writeHead(403).end(JSON.stringify({ message: 'The security token included in the request is expired' }));
    return;
  }
  bill[session.team] = (bill[session.team] ?? 0) + 1;
  const text = `Hello, ${session.team}.`;
  response.setHeader('content-type', 'application/json');
  response.end(
    JSON.stringify({
      output: { message: { role: 'assistant', content: [{ text }] } },
      stopReason: 'end_turn',
      usage: { inputTokens: 3, outputTokens: 3, totalTokens: 6 },
    }),
  );
}

/** The exchange of a token of this machine for one of Google. */
function exchangeToken(form: URLSearchParams, response: ServerResponse): void {
  if (isDown) {
    response.writeHead(503).end();
    return;
  }
  if (form.get('subject_token') !== subjectToken) {
    response
      .writeHead(400)
      .end(JSON.stringify({ error: 'invalid_grant', error_description: 'Nobody knows this token.' }));
    return;
  }
  const token = `example-access-token-${tokens.size + 1}`;
  tokens.set(token, Date.now() + lifeMs);
  process.stdout.write(`Google: ${form.get('audience')}\n`);
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: lifeMs / 1000 }));
}

function generateContent({ headers }: IncomingMessage, response: ServerResponse): void {
  const endsAtMs = tokens.get((headers.authorization ?? '').replace('Bearer ', '')) ?? 0;
  response.setHeader('content-type', 'application/json');
  if (endsAtMs < Date.now()) {
    const message = 'Request had invalid authentication credentials.';
    response.writeHead(401).end(JSON.stringify({ error: { code: 401, message, status: 'UNAUTHENTICATED' } }));
    return;
  }
  const content = { role: 'model', parts: [{ text: 'Hello from Vertex.' }] };
  response.end(JSON.stringify({ candidates: [{ content, finishReason: 'STOP' }] }));
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const form = new URLSearchParams(Buffer.concat(parts).toString());
  const path = request.url ?? '';
  if (path === '/bill') response.end(`${JSON.stringify(bill)}\n`);
  else if (path === '/sts/down' || path === '/sts/up') {
    isDown = path === '/sts/down';
    response.end(`STS is ${isDown ? 'down' : 'up'}\n`);
  } else if (path.startsWith('/model/')) converse(request, response);
  else if (path === '/google/token') exchangeToken(form, response);
  else if (path.startsWith('/google/')) generateContent(request, response);
  else assumeRole(form, response);
}

const server = createServer((request, response) => void serve(request, response));
server.listen(port, '127.0.0.1', () => {
  const address = server.address();
  const used = typeof address === 'object' && address !== null ? address.port : port;
  process.stdout.write(`AWS and Google are played at http://127.0.0.1:${used}\n`);
});
