// A stand-in for AWS on loopback: STS, the metadata of an instance, and a Bedrock that takes only tokens which it knows and which have not
// ended. Nothing else of AWS is asked: `environment` leads the official package here.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { listen } from './ports.ts';
import type { Teardown } from './teardown.ts';

/** What becomes of a question to STS. `slow`: it gets no answer. */
export type StsAnswer = 'credential' | 'down' | 'slow' | 'garbage' | 'denied' | 'ended' | 'other clock';

/** A question to STS. */
export interface StsQuestion {
  /** The name of the role. */
  readonly role: string;
  readonly tags: Readonly<Record<string, string>>;
  /** The access key that signed it. */
  readonly signedBy: string | undefined;
}

/** A call of Bedrock. `problem`: why it was refused; undefined: it was answered. */
export interface BedrockCall {
  readonly token: string | undefined;
  readonly tags: Readonly<Record<string, string>>;
  readonly path: string;
  readonly problem: string | undefined;
}

interface Issued {
  readonly endsAtMs: number;
  readonly tags: StsQuestion['tags'];
}

export class FakeAws {
  readonly questions: StsQuestion[] = [];
  readonly calls: BedrockCall[] = [];
  /** The life of what is issued. Milliseconds. */
  lifeMs = 3_600_000;
  /** The answer to a question; `asked`: how often STS was asked for this role and these tags before. */
  answer: (question: StsQuestion, asked: number) => StsAnswer = () => 'credential';
  /** What Bedrock says to a call that it takes; undefined: a usual answer. */
  refusal: ((call: BedrockCall) => { status: number; text: string } | undefined) | undefined;
  url = '';
  readonly #issued = new Map<string, Issued>();
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  async start(t: Teardown): Promise<this> {
    this.url = `http://127.0.0.1:${await listen(this.#server)}`;
    t.teardown(() => {
      this.#server.closeAllConnections();
      this.#server.close();
    });
    return this;
  }

  /** The variables that lead the package here, and nowhere else. */
  get environment(): Record<string, string | undefined> {
    return {
      AWS_ENDPOINT_URL_STS: this.url,
      AWS_EC2_METADATA_SERVICE_ENDPOINT: this.url,
      AWS_CONFIG_FILE: '/nonexistent/config',
      AWS_SHARED_CREDENTIALS_FILE: '/nonexistent/credentials',
      AWS_ACCESS_KEY_ID: undefined,
      AWS_SECRET_ACCESS_KEY: undefined,
      AWS_PROFILE: undefined,
    };
  }

  /** How often STS was asked for a role. */
  asked(role: string): number {
    return this.questions.filter((question) => question.role === role).length;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const path = request.url ?? '';
    const body = Buffer.concat(parts).toString();
    if (path.startsWith('/latest/')) this.#metadata(path, response);
    else if (path.startsWith('/model/')) this.#bedrock(path, request, response);
    else this.#sts(new URLSearchParams(body), request, response);
  }

  #metadata(path: string, response: ServerResponse): void {
    if (path.endsWith('/api/token')) response.end('metadata-session');
    else if (path.endsWith('/security-credentials/')) response.end('instance-role');
    else {
      const Expiration = new Date(Date.now() + 21_600_000).toISOString();
      const pair = {
        AccessKeyId: 'ASIAINSTANCE00000000',
        SecretAccessKey: 'instance-secret-canary',
        Token: 'instance',
      };
      response.end(JSON.stringify({ Code: 'Success', Type: 'AWS-HMAC', ...pair, Expiration }));
    }
  }

  #sts(form: URLSearchParams, request: IncomingMessage, response: ServerResponse): void {
    const tags: Record<string, string> = {};
    for (let number = 1; form.has(`Tags.member.${number}.Key`); number += 1)
      tags[form.get(`Tags.member.${number}.Key`) ?? ''] = form.get(`Tags.member.${number}.Value`) ?? '';
    const signedBy = /Credential=(\w+)\//.exec(request.headers.authorization ?? '')?.[1];
    const question = { role: form.get('RoleArn')?.split('/').at(-1) ?? '', tags, signedBy };
    const name = (one: StsQuestion): string => JSON.stringify([one.role, one.tags]);
    const asked = this.questions.filter((one) => name(one) === name(question)).length;
    this.questions.push(question);
    const answer = this.answer(question, asked);
    if (answer === 'slow') return;
    if (answer === 'down') response.destroy();
    else if (answer === 'garbage') response.end('<html>secret-of-another-answer');
    else if (answer === 'denied')
      response.writeHead(403).end(errorOf('AccessDenied', 'not authorized to perform: sts:AssumeRole'));
    else this.#issue(question, answer, response);
  }

  #issue({ role, tags }: StsQuestion, answer: StsAnswer, response: ServerResponse): void {
    const offMs = answer === 'other clock' ? -36_000_000 : 0;
    const lifeMs = answer === 'ended' ? -60_000 : this.lifeMs;
    const token = `canary-token-${role}-${this.#issued.size}-${'x'.repeat(200)}`;
    this.#issued.set(token, { endsAtMs: Date.now() + lifeMs, tags });
    response.setHeader('date', new Date(Date.now() + offMs).toUTCString());
    response.end(credentialsOf(token, new Date(Date.now() + lifeMs + offMs).toISOString()));
  }

  #bedrock(path: string, { headers }: IncomingMessage, response: ServerResponse): void {
    const token = headers['x-amz-security-token'] as string | undefined;
    const issued = this.#issued.get(token ?? '');
    const isEnded = issued !== undefined && issued.endsAtMs < Date.now();
    const problem = issued === undefined ? 'unknown token' : isEnded ? 'ended token' : undefined;
    const call = { token, tags: issued?.tags ?? {}, path, problem };
    this.calls.push(call);
    const refusal = problem === undefined ? this.refusal?.(call) : undefined;
    response.setHeader('content-type', 'application/json');
    if (refusal !== undefined) response.writeHead(refusal.status).end(refusal.text);
    else if (problem !== undefined)
      response.writeHead(403).end(JSON.stringify({ message: `ExpiredToken: ${problem}` }));
    else response.end(JSON.stringify(usualAnswer));
  }
}

const usualAnswer = {
  output: { message: { role: 'assistant', content: [{ text: 'Hello' }] } },
  stopReason: 'end_turn',
  usage: { inputTokens: 3, outputTokens: 1, totalTokens: 4 },
};

function credentialsOf(token: string, expiration: string): string {
  const pair = `<AccessKeyId>ASIASESSION000000000</AccessKeyId><SecretAccessKey>session-secret-canary</SecretAccessKey>`;
  const credentials = `<Credentials>${pair}<SessionToken>${token}</SessionToken><Expiration>${expiration}</Expiration></Credentials>`;
  return `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult>${credentials}</AssumeRoleResult></AssumeRoleResponse>`;
}

function errorOf(code: string, message: string): string {
  return `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`;
}
