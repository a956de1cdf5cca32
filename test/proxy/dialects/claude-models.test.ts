// Versions of Claude, however a provider writes a model's name.
import { test } from 'tap';
import { claudeTraitsOf, claudeVersionOf } from '../../../proxy/dialects/claude/claude-models.ts';

await test('the version of Claude in a name', (t) => {
  const versions: [string, number][] = [
    ['anthropic.claude-v2:1', 200],
    ['anthropic.claude-instant-v1', 100],
    ['claude-2.1', 201],
    ['anthropic.claude-3-haiku-20240307-v1:0', 300],
    ['anthropic.claude-3-5-sonnet-20241022-v2:0', 305],
    ['us.anthropic.claude-3-7-sonnet-20250219-v1:0', 307],
    ['claude-3-7-sonnet@20250219', 307],
    ['anthropic.claude-sonnet-4-20250514-v1:0', 400],
    ['claude-opus-4-1@20250805', 401],
    ['eu.anthropic.claude-sonnet-4-5-20250929-v1:0', 405],
    ['anthropic/Claude-Sonnet-4.5', 405],
    ['arn:aws:bedrock:us-east-1:123456789012:inference-profile/eu.anthropic.claude-opus-4-6-v1', 406],
    ['claude-opus-4-6@default', 406],
    ['anthropic.claude-opus-5', 500],
    ['anthropic.claude-mythos-preview', Number.POSITIVE_INFINITY],
    ['meta.llama3-1-70b-instruct-v1:0', 0],
    ['kimi-k2', 0],
  ];
  for (const [model, version] of versions) t.equal(claudeVersionOf(model), version, model);
  t.match(claudeTraitsOf('anthropic.claude-mythos-preview'), { thinksAdaptively: true, alwaysThinks: true });
  const traits = (model: string): readonly unknown[] => {
    const { alwaysThinks, offType, canBeForced, takesPrefill } = claudeTraitsOf(model);
    return [alwaysThinks, offType, canBeForced, takesPrefill];
  };
  t.same(traits('claude-sonnet-5-5'), [false, 'between_tools', false, false]);
  t.same(traits('eu.anthropic.claude-opus-5-5'), [true, 'disabled', false, false]);
  t.same(traits('claude-fable-5-1'), [true, 'disabled', false, false]);
  t.same(traits('claude-sonnet-5'), [false, 'disabled', true, false]);
  t.same(traits('claude-sonnet-4-5'), [false, 'disabled', true, true]);
  t.same(traits('kimi-k2'), [false, 'disabled', true, true]);
  t.match(claudeTraitsOf('kimi-k2'), { canThink: false, hasSampling: true });
  t.end();
});
