// Timeouts of a provider that suit a test.
import type { Patience } from '../../proxy/upstream/patience.ts';

export const patience: Patience = {
  firstByteMs: 300,
  firstEventMs: 300,
  otherEventMs: 300,
  streamIdleMs: 300,
  totalMs: 3_000,
  usageDrainMs: 300,
};
