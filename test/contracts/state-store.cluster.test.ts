// The contract of the state store in a cluster of Redis: every script finds its keys on one node. Only in long runs.
import { testContract } from './state-store-cases.ts';
import { redisCluster } from './state-store-engines.ts';

await testContract(redisCluster);
