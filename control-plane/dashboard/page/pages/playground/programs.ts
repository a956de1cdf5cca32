// The request of the playground as a program. The key is a variable of the environment, never the one that was typed. Pure.
import { type ChatBody, endpoint } from './draft.ts';

/** The variable that holds the key. */
const variable = 'GATEWAY_KEY';
/** Of the process in Node. */
const environment = 'env';

export const languages = [
  ['curl', 'curl'],
  ['python', 'Python'],
  ['typescript', 'TypeScript'],
] as const;
export type Language = (typeof languages)[number][0];

/** `origin`: that of a proxy. */
export function programOf(language: Language, { stream_options: _options, ...body }: ChatBody, origin: string): string {
  return { curl, python, typescript }[language](body, origin);
}

type Written = Omit<ChatBody, 'stream_options'>;

function curl(body: Written, origin: string): string {
  return [
    `curl ${body.stream ? '-N ' : ''}${origin}${endpoint} \\`,
    `  -H "Authorization: Bearer $${variable}" \\`,
    "  -H 'Content-Type: application/json' \\",
    `  -d '${JSON.stringify(body, null, 2).replaceAll("'", "'\\''")}'`,
  ].join('\n');
}

/** What JSON writes of texts and numbers is Python, too. */
function python({ messages, stream, ...settings }: Written, origin: string): string {
  return [
    'import os',
    'from openai import OpenAI',
    '',
    `client = OpenAI(base_url="${origin}/v1", api_key=os.environ["${variable}"])`,
    'answer = client.chat.completions.create(',
    ...Object.entries(settings).map(([name, value]) => `    ${name}=${JSON.stringify(value)},`),
    '    messages=[',
    ...messages.map(({ role, content }) => `        {"role": "${role}", "content": ${JSON.stringify(content)}},`),
    '    ],',
    ...(stream ? ['    stream=True,'] : []),
    ')',
    ...(stream
      ? [
          'for chunk in answer:',
          '    for choice in chunk.choices:',
          '        print(choice.delta.content or "", end="", flush=True)',
        ]
      : ['print(answer.choices[0].message.content)']),
  ].join('\n');
}

function typescript(body: Written, origin: string): string {
  return [
    "import OpenAI from 'openai';",
    '',
    `const client = new OpenAI({ baseURL: '${origin}/v1', apiKey: process.${environment}.${variable} });`,
    `const answer = await client.chat.completions.create(${JSON.stringify(body, null, 2).replace(/^( +)"(\w+)":/gm, '$1$2:')});`,
    ...(body.stream
      ? ["for await (const { choices } of answer) process.stdout.write(choices[0]?.delta.content ?? '');"]
      : ['console.log(answer.choices[0]?.message.content);']),
  ].join('\n');
}
