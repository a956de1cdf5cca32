// The data plane as a program: `npm run proxy` starts this file.
await import('./serve.ts');
