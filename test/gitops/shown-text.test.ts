// The text of a configuration file as operators see it: the lines as they are written, and nothing that may be a secret.
import { test } from 'tap';
import { longestShown, shownText } from '../../gitops/read/shown-text.ts';

const shown = (text: string, secrets: readonly string[] = []) => shownText({ bytes: Buffer.from(text) }, secrets);

await test('lines stay where they are, comments go, references stay, and what may be a secret is hidden', async (t) => {
  const written = `# the old key was sk-old-0123456789abcdef
providers:
  openai:
    type: openai # ours
    base_url: https://api.example.com/v1
    api_key: \${OPENAI_API_KEY}
  other:
    base_url: "https://user:pass@api.example.com/v1"
    api_keys: [abc, '\${SECOND:-fallback-secret}']
    headers: { x-token: in-the-clear }
rate_limits:
  user_paths:
    - path: '/team-#1' # a hash in a text
      limits: [{ period: minute, max_requests: 60 }]
guardrails:
  - name: words
    keywords:
      words: [Bluebird]
  - name: hook
    webhook:
      url: https://hooks.example.com/T0/secret-path
      secret: |
        first line
        second line
  - name: kind
    system_prompt: { text: Be kind. }
`;
  t.equal(
    shown(written, ['Bluebird']),
    `
providers:
  openai:
    type: openai
    base_url: https://api.example.com/v1
    api_key: \${OPENAI_API_KEY}
  other:
    base_url: "[hidden]"
    api_keys: ["[hidden]", "[hidden]"]
    headers: { x-token: "[hidden]" }
rate_limits:
  user_paths:
    - path: '/team-#1'
      limits: [{ period: minute, max_requests: 60 }]
guardrails:
  - name: words
    keywords:
      words: [[REDACTED]]
  - name: hook
    webhook:
      url: "[hidden]"
      secret: "[hidden]"


  - name: kind
    system_prompt: { text: Be kind. }
`,
  );
});

await test('a text with a name of its own is hidden wherever it is declared, because it may be repeated as a secret', async (t) => {
  const written = 'aliases:\n  - source: &name chat\nproviders:\n  openai: { api_key: *name }\n';
  t.equal(shown(written), 'aliases:\n  - source: &name "[hidden]"\nproviders:\n  openai: { api_key: *name }\n');
});

await test('a file that takes too long is not shown', async (t) => {
  t.equal(shown(`# ${'x'.repeat(longestShown)}\n{}\n`), undefined);
});
