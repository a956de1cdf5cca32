// A configuration with one of everything that a test may ask for, and directories of it with tests.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { checkWithTests } from '../../../proxy/config-tests/check-with-tests.ts';
import { temporaryDirectory } from '../../support/teardown.ts';

export const configuration = `
server: { time_zone: Europe/Berlin }
providers:
  main: { type: openai, base_url: "\${UNSET_URL}/v1", api_key: "\${UNSET_KEY}", models: [{ id: m, pricing: { input_per_mtok: 1, output_per_mtok: 2 } }, { id: n }] }
  spare: { type: openai, base_url: http://127.0.0.1:1/v1, models: [{ id: m, pricing: { input_per_mtok: 3, output_per_mtok: 4 } }] }
aliases:
  - { source: chat, strategy: failover, targets: [{ model: main/m }, { model: spare/m }] }
  - source: by-day
    strategy: failover
    targets: [{ model: main/m, when: 'hour >= 8 && hour < 20' }, { model: spare/m }]
  - source: golden
    strategy: failover
    targets: [{ model: main/m, when: 'headers["x-tier"] == "gold" && tools == 0' }, { model: spare/m }]
rate_limits:
  user_paths:
    - path: /a
      limits:
        - { name: a-minute, period: minute, max_requests: 40 }
        - { period: day, max_tokens: 100000 }
    - { path: /a/jobs, limits: [{ period: concurrent, max_requests: 3 }] }
    - { path: /a/dry, limits: [{ period: minute, max_requests: 1, mode: shadow }] }
  providers:
    - { name: main, limits: [{ period: minute, max_requests: 100 }] }
budgets:
  user_paths: [{ path: /a, limits: [{ period: monthly, amount: 5 }] }]
  labels: [{ label: batch, limits: [{ period: daily, amount: 1 }] }]
  unpriced: allow
guardrails:
  - { name: cards, user_paths: [/a], pii: { kinds: [card], action: block } }
  - { name: mails, user_paths: [/a], pii: { kinds: [email], action: mask } }
  - { name: asked, user_paths: [/a/asked], mode: shadow, webhook: { url: "\${UNSET_HOOK}" } }
keys:
  - { name: ci, hash: "sha256:${'a'.repeat(64)}", user_path: /a/ci, labels: [batch], allowed_models: [chat], expires_at: "2027-01-01T00:00:00Z" }
identities:
  company:
    issuer: https://id.example.org
    jwks_uri: https://id.example.org/keys
    audience: [gateway]
    required_claims: { staff: true }
    user_path: "/a/{sub}"
    labels: ["{groups}"]
`;

/** The result of `check DIR --test` of a directory with these tests. */
export async function checked(t: Test, tests: string | Buffer, ...more: readonly string[]) {
  const directory = temporaryDirectory(t, 'gateway-config-tests');
  mkdirSync(join(directory, 'teams'));
  writeFileSync(join(directory, 'config.yaml'), configuration);
  writeFileSync(join(directory, 'teams/a.test.yaml'), tests);
  let nowMs = 0;
  const parts = { environment: {}, today: '2026-03-01', nowMs: () => (nowMs += 1_000) };
  const { output, code } = await checkWithTests([directory, '--test', ...more], parts);
  return { output: output.replaceAll(directory, 'DIR'), code };
}
