// What is explained of a request at an endpoint, and what must be said of it.
import { namingEndpoints } from '../../proxy/endpoints/naming-endpoints.ts';
import type { Explanation } from '../../proxy/explain/explanation.ts';
import type { ExplainCase } from './explain-cases.ts';
import { broken, explainStand, keyDocument, limit, used, usedTarget } from './explain-stand.ts';

const providers = {
  claude: { type: 'anthropic' as const },
  groq: { type: 'groq' as const },
  plain: {},
  talk: { dialects: ['audio' as const, 'realtime' as const] },
};
const all = { source: 'all', targets: ['claude/m', 'groq/m', 'plain/m', 'talk/m'].map((model) => ({ model })) };
const hedged = { ...all, hedge: true };
const onGroq = { providers: [{ name: 'groq', limits: [limit({ max_requests: 1, name: 'groq' })] }] };
const onPath = {
  user_paths: [
    {
      path: '/',
      per_child: false,
      limits: [limit({ max_requests: 1, name: 'all' }), limit({ period: 'concurrent', max_requests: 1 })],
    },
  ],
};

const at = (path: string) => ({ model: 'all', endpoint: namingEndpoints.get(path) });
const steps = ({ targets }: Explanation) => ({
  targets: targets.map(({ target, would, reason, relay, translated_to: format, is_assumed: isAssumed }) =>
    [target, would, reason, relay, format, isAssumed && 'assumed'].filter(Boolean).join(' '),
  ),
});
const course = (told: Explanation) => {
  const { strategy, attempts, hedge } = told.resolution;
  return { ...steps(told), course: [strategy, attempts, hedge], code: told.refusal?.code };
};
const counted = (told: Explanation) => ({
  counted: [told.counted?.rules, told.counted?.slot],
  rules: told.rules.map(({ period_label: label }) => label),
  ofTargets: [...new Set(told.targets.flatMap(({ rules }) => rules.map(({ name }) => name)))],
  code: told.refusal?.code,
});

export const explainEndpointCases: readonly ExplainCase[] = [
  {
    says: 'bytes, a translation, and what a provider has not',
    stand: () => explainStand({ providers, aliases: [hedged] }),
    asked: at('/v1/chat/completions'),
    expected: (told) => ({ ...course(told), path: told.request.endpoint, outcome: told.outcome }),
    gives: {
      targets: [
        'claude/m ask translated messages',
        'groq/m ask bytes',
        'plain/m ask bytes',
        'talk/m skip unsupported_operation',
      ],
      course: ['round_robin', 3, true],
      code: undefined,
      path: '/v1/chat/completions',
      outcome: 'It would be sent to claude/m; when that fails, to groq/m, then plain/m.',
    },
  },
  {
    says: 'speech is asked of one target after the other, in the order of the strategy: what fails stands last',
    stand: () => broken(explainStand({ providers, aliases: [hedged] }), 'groq'),
    asked: at('/v1/audio/speech'),
    expected: (told) => ({ ...course(told), outcome: told.outcome }),
    gives: {
      targets: [
        'talk/m ask bytes',
        'groq/m last_resort breaker_open bytes',
        'claude/m skip unsupported_operation',
        'plain/m skip unsupported_operation',
      ],
      course: ['round_robin', 3, undefined],
      code: undefined,
      outcome: 'It would be sent to talk/m.',
    },
  },
  {
    says: 'speech goes to the first target that has room',
    stand: () => usedTarget(explainStand({ providers, aliases: [all], rules: onGroq }), 'groq'),
    asked: at('/v1/audio/speech'),
    expected: (told) => ({ first: steps(told).targets.slice(0, 2), outcome: told.outcome }),
    gives: { first: ['groq/m skip saturated bytes', 'talk/m ask bytes'], outcome: 'It would be sent to talk/m.' },
  },
  {
    says: 'a consumer that is used up is refused before its body says where the speech would go',
    stand: () => {
      const hourly = { name: 'groq', limits: [limit({ max_requests: 1, name: 'hourly', period: 'hour' })] };
      const options = { providers, aliases: [all], rules: { ...onPath, providers: [hourly] } };
      return usedTarget(used(explainStand(options), '/'), 'groq');
    },
    asked: { ...at('/v1/audio/speech'), model: 'groq/m' },
    expected: ({ refusal }) => ({ rule: refusal?.rule, wait: refusal?.retry_after_seconds }),
    gives: { rule: 'all', wait: 61 },
  },
  {
    says: 'what no target can be asked is refused',
    stand: () => explainStand({ providers, aliases: [all] }),
    asked: at('/v1/rerank'),
    expected: ({ refusal, targets }) => ({ refusal, reasons: [...new Set(targets.map(({ reason }) => reason))] }),
    gives: {
      refusal: {
        status: 400,
        code: 'unsupported_operation',
        message:
          'The model "all" cannot be asked at /v1/rerank: its provider has nothing like it. If its server has, the operator can name it under `dialects` of the provider.',
      },
      reasons: ['unsupported_operation'],
    },
  },
  {
    says: 'a key may use only the target that has not the endpoint',
    stand: () => explainStand({ providers, aliases: [all] }, [keyDocument('k', { allowed_models: ['plain/m'] })]),
    asked: { ...at('/v1/audio/speech'), keyId: 'k' },
    expected: course,
    gives: {
      targets: [
        'plain/m skip unsupported_operation',
        'claude/m skip not_granted',
        'groq/m skip not_granted bytes',
        'talk/m skip not_granted bytes',
      ],
      course: ['round_robin', 4, undefined],
      code: 'unsupported_operation',
    },
  },
  {
    says: 'a session is one request and one slot, and is not hedged',
    stand: () => explainStand({ providers, aliases: [hedged], rules: { ...onPath, ...onGroq } }),
    asked: at('/v1/realtime'),
    expected: (told) => ({ ...course(told), ...counted(told) }),
    gives: {
      targets: [
        'talk/m ask bytes',
        'claude/m skip unsupported_operation',
        'groq/m skip unsupported_operation',
        'plain/m skip unsupported_operation',
      ],
      course: ['round_robin', 3, undefined],
      counted: ['all', 'session'],
      rules: ['concurrent', 'minute'],
      ofTargets: ['groq'],
      code: undefined,
    },
  },
  {
    says: 'a session that no target has is refused as such before the rules of its consumer',
    stand: () => used(explainStand({ providers, aliases: [all], rules: onPath }), '/'),
    asked: { ...at('/v1/realtime'), model: 'groq/m' },
    expected: ({ refusal }) => ({ code: refusal?.code }),
    gives: { code: 'unsupported_operation' },
  },
  {
    says: 'a batch counts under the rules of its user path alone, and holds no slot',
    stand: () => usedTarget(explainStand({ providers, aliases: [all], rules: { ...onPath, ...onGroq } }), 'groq'),
    asked: at('/v1/batches'),
    expected: (told) => ({ ...steps(told), ...counted(told), outcome: told.outcome }),
    gives: {
      targets: [
        'groq/m ask bytes',
        'plain/m ask bytes assumed',
        'talk/m ask bytes assumed',
        'claude/m skip unsupported_operation',
      ],
      counted: ['user_paths', 'none'],
      rules: ['minute'],
      ofTargets: [],
      code: undefined,
      outcome: 'It would be sent to the one that keeps its input file: groq/m or plain/m or talk/m.',
    },
  },
  {
    says: 'a batch is refused by a used-up rule of its user path, not by one on slots',
    stand: () => used(explainStand({ providers, aliases: [all], rules: onPath }), '/'),
    asked: at('/v1/messages/batches'),
    expected: ({ refusal }) => ({ code: refusal?.code, rule: refusal?.rule, wait: refusal?.retry_after_seconds }),
    gives: { code: 'rate_limit_exceeded', rule: 'all', wait: 61 },
  },
  {
    says: 'a batch of messages needs a provider that has them',
    stand: () => explainStand({ providers, aliases: [all] }),
    asked: { ...at('/v1/messages/batches'), model: 'plain/m' },
    expected: ({ refusal }) => ({ code: refusal?.code }),
    gives: { code: 'batch_needs_one_provider' },
  },
  {
    says: 'tokens are counted under no rule, by the gateway where no provider does',
    stand: () => used(explainStand({ providers, aliases: [all], rules: { ...onPath, ...onGroq } }), '/'),
    asked: { ...at('/v1/messages/count_tokens'), model: 'groq/m' },
    expected: (told) => ({ ...steps(told), ...counted(told), outcome: told.outcome }),
    gives: {
      targets: ['groq/m skip unsupported_operation'],
      counted: ['none', 'none'],
      rules: [],
      ofTargets: [],
      code: undefined,
      outcome: 'The gateway would answer it by itself, with an estimate.',
    },
  },
];
