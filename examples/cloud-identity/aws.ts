// Plays AWS on loopback: an STS that issues credentials which end soon, a Bedrock that takes no others, and what each team has cost.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

const port = Number(process.env['AWS_EXAMPLE_PORT'] ?? 8243);
/** A real STS gives at least 15 minutes. */
const lifeMs = Number(process.env['AWS_EXAMPLE_LIFE_SECONDS'] ?? 20) * 1000;

interface Session {
  readonly team: string;
  readonly endsAtMs: number;
}

/** The sessions of the role, by their tokens. */
const sessions = new Map<string, Session>();
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

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const path = request.url ?? '';
  if (path === '/bill') response.end(`${JSON.stringify(bill)}\n`);
  else if (path === '/sts/down' || path === '/sts/up') {
    isDown = path === '/sts/down';
    response.end(`STS is ${isDown ? 'down' : 'up'}\n`);
  } else if (path.startsWith('/model/')) converse(request, response);
  else assumeRole(new URLSearchParams(Buffer.concat(parts).toString()), response);
}

const server = createServer((request, response) => void serve(request, response));
server.listen(port, '127.0.0.1', () => {
  const address = server.address();
  const used = typeof address === 'object' && address !== null ? address.port : port;
  process.stdout.write(`AWS is played at http://127.0.0.1:${used}\n`);
});
