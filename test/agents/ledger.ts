// An MCP server over standard input and output with two tools: `note` keeps a text and gives a receipt, `recall` gives what no other tool knows.
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** `node ledger.ts <log> <receipt> <memory>`: every call of a tool becomes a line of JSON in the log. */
const [, , log = '', receipt = '', memory = ''] = process.argv;

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: {
    readonly protocolVersion?: string;
    readonly name?: string;
    readonly arguments?: { readonly text?: unknown };
  };
}

const schema = (properties: object, required: readonly string[]): object => ({ type: 'object', properties, required });
const tools = [
  {
    name: 'note',
    description: 'Notes a text in the ledger, and gives a receipt.',
    inputSchema: schema({ text: { type: 'string', description: 'What to note.' } }, ['text']),
  },
  { name: 'recall', description: 'Gives what the ledger remembers.', inputSchema: schema({}, []) },
];

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method = '', params = {} } = JSON.parse(line) as Message;
  if (id === undefined) return;
  const outcome = answerTo(method, params);
  const answer =
    outcome === undefined ? { error: { code: -32601, message: `no method ${method}` } } : { result: outcome };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`);
});

function answerTo(method: string, { protocolVersion, name, arguments: input }: NonNullable<Message['params']>) {
  if (method === 'initialize') {
    return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'ledger', version: '1.0.0' } };
  }
  if (method === 'ping') return {};
  if (method === 'tools/list') return { tools };
  if (method !== 'tools/call') return undefined;
  appendFileSync(log, `${JSON.stringify({ name, text: input?.text })}\n`);
  return { content: [{ type: 'text', text: name === 'note' ? receipt : memory }] };
}
