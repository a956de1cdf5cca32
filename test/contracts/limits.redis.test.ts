// The contract of shared limits on a real Redis server, and what only a server can do: be killed, be silent, hold garbage.
import { testLimits } from './limits-cases.ts';
import { redisLimitEngine } from './limits-engines.ts';

await testLimits(redisLimitEngine);
