// The contract of the state store on a real Redis server.
import { testContract } from './state-store-cases.ts';
import { redis } from './state-store-engines.ts';

await testContract(redis);
