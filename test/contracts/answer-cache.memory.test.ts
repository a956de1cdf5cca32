// The contract of the response cache in memory.
import { openMemoryCache } from '../../store/cache/memory.ts';
import { testAnswerCache } from './answer-cache-cases.ts';

await testAnswerCache({ name: 'memory', open: (_, mostBytes) => Promise.resolve(openMemoryCache(mostBytes)) });
